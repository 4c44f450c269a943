package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// fetch SOCKET PATH CODE REGEXP asks a run's endpoint, on a unix socket, until
// it answers with the code and a body that matches, which becomes the standard
// output. It gives up after 30 seconds.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: fetch SOCKET PATH CODE REGEXP")
	}
	want := regexp.MustCompile("(?m)" + args[3])
	var code int
	var body string
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		code, body, err = ask(ts.MkAbs(args[0]), args[1])
		if err == nil && strconv.Itoa(code) == args[2] && want.MatchString(body) {
			fmt.Fprint(ts.Stdout(), body)
			return
		}
	}
	ts.Fatalf("%s: in vain; the last answer is %d %v\n%s", args[1], code, err, body)
}

func ask(socket, path string) (int, string, error) {
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}
	resp, err := c.Get("http://twg" + path)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}
