package sdk

import "testing"

func TestByteSize(t *testing.T) {
	for _, c := range []struct {
		in, out string
		want    ByteSize
	}{
		{"0", "0B", 0}, {"5", "5B", 5}, {"1536", "1536B", 1536}, {"64MiB", "64MiB", 64 << 20},
		{"10 GB", "9765625KiB", 1e10}, {" 7 B ", "7B", 7}, {"1024KiB", "1MiB", 1 << 20}, {"9223372036854775807", "9223372036854775807B", 1<<63 - 1},
	} {
		got, err := ParseByteSize(c.in)
		if err != nil || got != c.want || got.String() != c.out {
			t.Errorf("%q: %d %s, %v", c.in, got, got, err)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "1.5GiB", "1 mib", "0x10", "+5", "9223372036854775808", "8388608TiB", "99999999999999999999B"} {
		if got, err := ParseByteSize(in); err == nil {
			t.Errorf("%q was read as %d", in, got)
		}
	}
}
