package devkafka

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Loaded says what became of a Load.
type Loaded struct {
	Load
	// Records is how many records the file has, and, unless Skipped, how many
	// were loaded.
	Records int64
	// Skipped: the topic held Held records already, so nothing was loaded.
	Skipped bool
	Held    int64
}

func (l Loaded) String() string {
	switch {
	case !l.Skipped:
		return fmt.Sprintf("topic %s: loaded %d records from %s", l.Topic, l.Records, l.File)
	case l.Held < l.Records:
		return fmt.Sprintf("topic %s: holds %d records already, fewer than the %d of %s; not loaded again: remove the data directory to load all of it", l.Topic, l.Held, l.Records, l.File)
	}
	return fmt.Sprintf("topic %s: holds %d records already; %s was not loaded again", l.Topic, l.Held, l.File)
}

// maxLine bounds a line of a file, and so a record's value.
const maxLine = 64 << 20

// minBatch is what producers of Kafka take for one batch by default.
const minBatch = 1_000_000

// load loads a file into a topic that is empty. The whole file is read before
// anything is produced, so that a line that cannot be used leaves the topic
// empty.
func (b *Broker) load(ctx context.Context, l Load) (Loaded, error) {
	done := Loaded{Load: l, Held: b.Records(l.Topic)}
	longest := 0
	err := eachLine(l.File, func(number int, line []byte) error {
		done.Records++
		longest = max(longest, len(line))
		_, err := l.record(number, line)
		return err
	})
	if err != nil {
		return done, err
	}
	if done.Skipped = done.Held > 0; done.Skipped {
		return done, nil
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(b.Addr),
		kgo.DisableClientMetrics(),
		kgo.ProducerBatchMaxBytes(int32(max(minBatch, longest+minBatch/10))),
		kgo.DefaultProduceTopic(l.Topic),
	)
	if err != nil {
		return done, fmt.Errorf("load %s: %w", l.File, err)
	}
	defer client.Close()
	return done, l.produce(ctx, client)
}

func (l Load) produce(ctx context.Context, client *kgo.Client) error {
	var first firstError
	err := eachLine(l.File, func(number int, line []byte) error {
		rec, err := l.record(number, bytes.Clone(line))
		if err != nil {
			return err
		}
		client.Produce(ctx, rec, func(_ *kgo.Record, err error) {
			if err != nil {
				first.note(fmt.Errorf("load line %d of %s into topic %s: %w", number, l.File, l.Topic, err))
			}
		})
		return first.get()
	})
	if err != nil {
		return err
	}
	if err := client.Flush(ctx); err != nil {
		return fmt.Errorf("load %s into topic %s: %w", l.File, l.Topic, err)
	}
	return first.get()
}

// record makes a record of a line.
func (l Load) record(number int, line []byte) (*kgo.Record, error) {
	rec := &kgo.Record{Value: line}
	if l.Key == "" && l.Timestamp == "" {
		return rec, nil
	}
	doc, err := parse(line)
	if err == nil && l.Key != "" {
		rec.Key, err = doc.key(l.Key)
	}
	if err == nil && l.Timestamp != "" {
		rec.Timestamp, err = doc.time(l.Timestamp)
	}
	if err != nil {
		return nil, fmt.Errorf("load line %d of %s: %w", number, l.File, err)
	}
	return rec, nil
}

// eachLine calls f for each line that is not blank.
func eachLine(file string, f func(number int, line []byte) error) error {
	in, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	number := 0
	for lines.Scan() {
		number++
		line := bytes.TrimSuffix(lines.Bytes(), []byte("\r"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := f(number, line); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("load line %d of %s: %w", number+1, file, err)
	}
	return nil
}

// firstError keeps the first of the errors that goroutines report.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
