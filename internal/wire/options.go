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

	// Under TLS a connection reads and writes whole records of 16 KiB, however
	// large gRPC's own buffers are. A large read buffer only adds a copy of
	// everything; this one lets a frame's header through in one read and the
	// payload around it. The write buffer should stay in a core's cache.
	readBuffer  = 512
	writeBuffer = 64 << 10

	streamWindow = 16 << 20
	connWindow   = 32 << 20
)

// ReadAhead bounds the bytes that one process can have sent on n of its streams
// and that nobody has read yet: flow control's windows.
func ReadAhead(n int) int64 { return min(int64(n)*streamWindow, connWindow) }

// ServerOptions are what a plugin's gRPC server is made with.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(MaxMessageBytes), grpc.MaxSendMsgSize(MaxMessageBytes),
		grpc.ReadBufferSize(readBuffer), grpc.WriteBufferSize(writeBuffer),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connWindow),
		experimental.BufferPool(pool),
	}
}

// DialOptions are what the host dials a plugin with.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec()),
			grpc.MaxCallRecvMsgSize(MaxMessageBytes), grpc.MaxCallSendMsgSize(MaxMessageBytes)),
		grpc.WithReadBufferSize(readBuffer), grpc.WithWriteBufferSize(writeBuffer),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connWindow),
		experimental.WithBufferPool(pool),
		// A retry would keep payloads alive; streams are begun anew instead.
		grpc.WithDisableRetry(),
	}
}
