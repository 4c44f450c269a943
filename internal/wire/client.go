package wire

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// Client is the host's side of one plugin process.
type Client struct {
	conn grpc.ClientConnInterface
	desc sdk.Description
	opt  Options
}

// Dial asks the plugin behind conn what it is.
func Dial(ctx context.Context, conn grpc.ClientConnInterface, opt Options) (*Client, error) {
	r, err := twgpb.NewPluginClient(conn).Describe(ctx, &twgpb.DescribeRequest{})
	if err != nil {
		return nil, fromStatus("describe plugin", err)
	}
	desc, err := fromDescription(r)
	if err != nil {
		return nil, err
	}
	return &Client{conn, desc, opt}, nil
}

// Describe returns what the plugin said when it was dialled.
func (c *Client) Describe() sdk.Description { return c.desc }

// Configure gives the plugin its settings. An error means that the plugin did
// not answer; what is wrong with the settings stands in the diagnostics.
func (c *Client) Configure(ctx context.Context, s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics, error) {
	r, err := twgpb.NewPluginClient(c.conn).Configure(ctx, &twgpb.ConfigureRequest{Settings: s.JSON(), Features: features})
	if err != nil {
		return sdk.Capabilities{}, nil, fromStatus("configure plugin "+c.desc.Name, err)
	}
	diags := sdk.Diagnostics(each(r.Diagnostics, fromDiagnostic))
	caps, err := fromCapabilities(r.Capabilities)
	if err == nil && caps.DurableFlush && !slices.Contains(r.Features, featureWritten) {
		err = violation("plugin %s declares durable_flush without the feature %q", c.desc.Name, featureWritten)
	}
	return caps, diags, err
}

// plugin is the sdk.Plugin of a client.
type plugin struct{ c *Client }

func (p plugin) Describe() sdk.Description { return p.c.desc }

func (p plugin) Configure(s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	caps, diags, err := p.c.Configure(context.Background(), s)
	if err != nil {
		diags.Errorf("", "the plugin did not answer", err.Error())
	}
	return caps, diags
}

// Source is the plugin as an sdk.Source. Its Reader is an sdk.CreditGranter.
func (c *Client) Source() sdk.Source { return sourceClient{plugin{c}} }

// Sink is the plugin as an sdk.Sink. With the capability offset_store it is an
// sdk.OffsetStore too, with replayable an sdk.Replayer, and with both an
// sdk.RecoveryStore.
func (c *Client) Sink(caps sdk.Capabilities) sdk.Sink {
	sink := sinkClient{plugin{c}, caps}
	store, replay := storeClient{twgpb.NewOffsetStoreClient(c.conn)}, replayClient{twgpb.NewSinkClient(c.conn)}
	switch {
	case caps.OffsetStore && caps.Replayable:
		return struct {
			sinkClient
			recoveryClient
			replayClient
		}{sink, recoveryClient{store}, replay}
	case caps.OffsetStore:
		return struct {
			sinkClient
			storeClient
		}{sink, store}
	case caps.Replayable:
		return struct {
			sinkClient
			replayClient
		}{sink, replay}
	}
	return sink
}
