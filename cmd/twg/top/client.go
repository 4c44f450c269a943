// Package top shows where a running host's pipelines stand: on a terminal as a
// picture that is drawn again and again, elsewhere as a line now and then.
package top

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
)

// Client asks a host's admin endpoint. It is safe for concurrent use.
type Client struct {
	address, token, base string
	http                 *http.Client
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 32 << 20

// NewClient returns a client of an address, HOST:PORT or unix:PATH. token may
// be empty.
func NewClient(address, token string) *Client {
	c := &Client{address: address, token: token, base: "http://" + address}
	transport := &http.Transport{MaxIdleConns: 1}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		c.base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	c.http = &http.Client{Transport: transport, Timeout: 5 * time.Second}
	return c
}

// Look is what a host says at one moment.
type Look struct {
	Host  view.Host
	Ready health.Verdict
}

// Look asks. The error names the address.
func (c *Client) Look(ctx context.Context) (Look, error) {
	var l Look
	err := c.get(ctx, "/status", &l.Host)
	if err == nil {
		err = c.get(ctx, "/ready", &l.Ready)
	}
	return l, err
}

// get takes any answer that is JSON: /ready has one with 503, too.
func (c *Client) get(ctx context.Context, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", c.address, err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("ask %s: %w; is a host with an admin block running there?", c.address, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK, http.StatusServiceUnavailable:
	case http.StatusUnauthorized:
		return fmt.Errorf("ask %s: it wants the token of its admin block; name the pipeline file, or set TWG_ADMIN_TOKEN", c.address)
	default:
		return fmt.Errorf("ask %s for %s: %s", c.address, path, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("ask %s for %s: the answer is not a twg host's: %w", c.address, path, err)
	}
	return nil
}
