package plugintest

import (
	"slices"

	"github.com/twg-io/twg/sdk"
)

// sinkCases is the acceptance suite of sinks, in the order of
// docs/protocol.md.
var sinkCases = slices.Concat(streamCases, recoveryCases)

var streamCases = []testCase[*sinkRig]{
	{"describe", "Describe says what the plugin is, and does no I/O.", nil, sinkDescribe},
	{"configure", "Configure does no I/O; what is wrong with settings is diagnostics, without secrets; capabilities fit each other.", nil, sinkConfigure},
	{"durable", "What is answered as durable survives kill -9 of the process.", durableOnly, sinkDurable},
	{"durable-flush", "What was answered as written is on stable storage once Flushed names its batch, and survives kill -9 of the process.", flushesLater, sinkDurableFlush},
	{"stop-flushes", "Stop: what was written is flushed, and Flushed says so before Stopped.", flushesLater, sinkStopFlushes},
	{"rows", "Null and empty keys, values and headers are distinct; headers keep order and repeat; any byte is legal.", nil, sinkRows},
	{"sizes", "A record of 5 MB and 1,000 records of 5 KB pass.", nil, sinkSizes},
	{"ranges", "Of a payload only the rows in the batch's ranges are taken.", nil, sinkRanges},
	{"empty-span", "A span without rows is answered like any other.", nil, sinkEmptySpan},
	{"receipts", "Every span of every batch gets exactly one final outcome.", nil, sinkReceipts},
	{"credit", "A sink grants credit, and goes on reading while it holds batches back: a Flush behind them arrives.", nil, sinkCredit},
	{"no-flush", "A sink that does not declare holds_until_close answers by itself.", func(c sdk.Capabilities) bool { return !c.HoldsUntilClose }, sinkNoFlush},
	{"flush", "Flush(seq): everything up to seq is made durable and answered. A Flush of nothing is none.", nil, sinkFlush},
	{"flush-overtakes", "A Flush can overtake batches; it holds for those too, once they have come.", nil, sinkFlushOvertakes},
	{"redelivery", "Rows that come again, in the session, the process or the next one, are there once if the sink declares idempotent, and may repeat if append_only.", nil, sinkRedelivery},
	{"stop", "Stop while busy: outcomes of everything, then Stopped, within the deadline; nothing is reported after it.", nil, sinkStop},
	{"abort", "A stream that ends without Stop aborts; the next session of the process answers for itself, and nothing of the old one is reported.", nil, sinkAbort},
	{"one-session", "A session begins only when the one before it has been committed or aborted.", nil, sinkOneSession},
	{"failure", "Where the target fails, nothing is answered as durable, the error is not final, and what is sent again arrives.", nil, sinkFailure},
	{"epochs", "Acquire issues the next epoch with a new token and names the owner before.", fencing, sinkEpochs},
	{"fenced", "A span under a stale epoch is fenced, what else is in its transaction is retryable, and nothing of it is visible.", fencing, sinkFenced},
	{"record", "Record adds intervals under the current epoch, durably, all or none; a stale epoch is fenced.", fencing, sinkRecord},
	{"coverage", "Coverage holds what was answered as durable, never more, and survives kill -9.", offsetStore, sinkCoverage},
	{"cursors", "A cursor is stored with its rows; the newest at or below the frontier is returned.", offsetStore, sinkCursors},
	{"granularity", "Under granularity record a span may be answered in parts; they do not overlap and make up the span.", nil, sinkGranularity},
	{"signals", "SIGINT is the host's to act on; SIGTERM ends the session in good order, and the process.", nil, sinkSignals},
	{"ping", "A session without work lives as long as pings are answered.", nil, sinkPing},
	{"orphan", "A process whose host is killed aborts and exits within ten seconds; the next one works.", nil, sinkOrphan},
}

func durableOnly(c sdk.Capabilities) bool  { return c.Durable }
func flushesLater(c sdk.Capabilities) bool { return c.FlushesLater() }
func fencing(c sdk.Capabilities) bool      { return c.Fencing }
func offsetStore(c sdk.Capabilities) bool  { return c.OffsetStore }
