package wire

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
)

const (
	// MaxMessageBytes bounds one message, in either direction. It is well
	// above the largest frame: a record of the default MaxRecordBytes travels
	// alone in about 64 MiB.
	MaxMessageBytes = 256 << 20

	ioBuffer     = 256 << 10
	streamWindow = 16 << 20
	connWindow   = 32 << 20
)

// ServerOptions are what a plugin's gRPC server is made with.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(MaxMessageBytes), grpc.MaxSendMsgSize(MaxMessageBytes),
		grpc.ReadBufferSize(ioBuffer), grpc.WriteBufferSize(ioBuffer),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connWindow),
		experimental.BufferPool(pool),
	}
}

// DialOptions are what the host dials a plugin with.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec()),
			grpc.MaxCallRecvMsgSize(MaxMessageBytes), grpc.MaxCallSendMsgSize(MaxMessageBytes)),
		grpc.WithReadBufferSize(ioBuffer), grpc.WithWriteBufferSize(ioBuffer),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connWindow),
		experimental.WithBufferPool(pool),
		// A retry would keep payloads alive; streams are begun anew instead.
		grpc.WithDisableRetry(),
	}
}
