package devkafka

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kfake"
)

// clusterLog passes the cluster's messages on.
type clusterLog struct{ log *slog.Logger }

func (l clusterLog) Logf(level kfake.LogLevel, msg string, args ...any) {
	at := slog.LevelDebug
	switch level {
	case kfake.LogLevelError:
		at = slog.LevelError
	case kfake.LogLevelWarn:
		at = slog.LevelWarn
	}
	if l.log.Enabled(context.Background(), at) {
		l.log.Log(context.Background(), at, fmt.Sprintf(msg, args...))
	}
}
