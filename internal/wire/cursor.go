package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toCursor(c sdk.Cursor) *twgpb.Cursor {
	return &twgpb.Cursor{Stream: toStream(c.Stream), Position: c.Position, Token: c.Token}
}

func fromCursor(c *twgpb.Cursor) (sdk.Cursor, error) {
	stream, err := fromStream(c.GetStream())
	if err != nil {
		return sdk.Cursor{}, err
	}
	return sdk.Cursor{Stream: stream, Position: c.Position, Token: c.Token}, nil
}
