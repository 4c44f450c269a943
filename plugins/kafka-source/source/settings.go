package source

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twg-io/twg/sdk"
)

// Settings are the plugin's settings in a pipeline file.
type Settings struct {
	Brokers  []string `twg:"brokers,required" validate:"min=1" doc:"host:port of one or more brokers; the others are learnt from them"`
	Topics   []string `twg:"topics,required" validate:"min=1" doc:"names of the topics to read"`
	Group    string   `twg:"group" validate:"min=1" doc:"consumer group; it holds the committed positions and shares out the partitions"`
	Start    string   `twg:"start" default:"earliest" validate:"oneof=earliest|latest" doc:"where a partition begins that nobody has a position for; a partition that is added later always begins at its first record"`
	ClientID string   `twg:"client_id" default:"twg" doc:"name under which brokers log and meter this client"`

	Partitions []string `twg:"partitions" validate:"min=1" doc:"instead of group: the partitions of each topic to read, like [\"0-3\", \"7\"] or [\"all\"]; the sink keeps the positions"`

	GroupProtocol string `twg:"group_protocol" default:"classic" validate:"oneof=classic|consumer" doc:"classic: members share out the partitions, cooperative-sticky; consumer: the brokers do (KIP-848, Kafka 4.0 and later), and their settings replace session_timeout and heartbeat_interval"`

	Balancers []string `twg:"balancers" default:"[\"cooperative-sticky\"]" validate:"min=1,oneof=cooperative-sticky|sticky|range|roundrobin" doc:"ways to share out partitions that this member knows, the best first; the group takes one that all its members know. All but cooperative-sticky interrupt every partition at each rebalance"`

	SessionTimeout   time.Duration `twg:"session_timeout" default:"45s" validate:"min=1s" doc:"how long a member may be silent before the group gives its partitions to others"`
	Heartbeat        time.Duration `twg:"heartbeat_interval" default:"3s" validate:"min=100ms" doc:"how often a member tells the group that it lives; below a third of session_timeout"`
	RebalanceTimeout time.Duration `twg:"rebalance_timeout" default:"1m" validate:"min=1s" doc:"how long members may take to give up partitions and join again"`
	RevokeTimeout    time.Duration `twg:"revoke_timeout" default:"30s" validate:"min=100ms" doc:"how long what is in flight may take to become durable and committed when a partition is revoked; below rebalance_timeout"`
	MetadataMaxAge   time.Duration `twg:"metadata_max_age" default:"30s" validate:"min=100ms" doc:"how long it may take to notice a new partition or a topic that was created anew"`
	StartupTimeout   time.Duration `twg:"startup_timeout" default:"30s" validate:"min=100ms" doc:"how long to try to reach a broker after the start before giving up"`

	FetchMaxBytes     sdk.ByteSize  `twg:"fetch_max_bytes" default:"4MiB" validate:"min=64KiB,max=256MiB" doc:"most bytes (compressed) that one request asks a broker for; less if the host has less credit"`
	PartitionMaxBytes sdk.ByteSize  `twg:"partition_max_bytes" default:"1MiB" validate:"min=16KiB,max=256MiB" doc:"most bytes (compressed) of one partition in one request; a larger batch comes alone"`
	FetchMaxWait      time.Duration `twg:"fetch_max_wait" default:"250ms" validate:"min=10ms,max=30s" doc:"how long a broker holds a request when it has nothing new"`
	MaxBatchBytes     sdk.ByteSize  `twg:"max_batch_bytes" default:"256MiB" validate:"min=1MiB,max=1GiB" doc:"most bytes that one producer batch may expand to; a larger one stops the pipeline"`

	TLS  *TLS  `twg:"tls" doc:"encrypt connections to the brokers"`
	SASL *SASL `twg:"sasl" doc:"authenticate with the brokers"`
}

// TLS says how connections are encrypted. An empty block uses the system's
// certificate authorities.
type TLS struct {
	CA         string `twg:"ca" doc:"certificate authorities to trust, PEM; empty: the system's"`
	Cert       string `twg:"cert" doc:"client certificate, PEM"`
	Key        string `twg:"key,sensitive" doc:"key of the client certificate, PEM"`
	ServerName string `twg:"server_name" doc:"name to expect in the broker's certificate; empty: the host that is dialled"`
}

// SASL says how to authenticate.
type SASL struct {
	Mechanism string `twg:"mechanism" default:"scram-sha-512" validate:"oneof=plain|scram-sha-256|scram-sha-512" doc:"plain sends the password as it is: use it with tls only"`
	User      string `twg:"user,required" doc:"user name"`
	Password  string `twg:"password,required,sensitive" doc:"password"`
}

// shares names what the group shares out among its members.
func (s *Settings) shares() []string {
	brokers := strings.Join(slices.Sorted(slices.Values(s.Brokers)), ",")
	out := make([]string, len(s.Topics))
	for i, t := range s.Topics {
		out[i] = fmt.Sprintf("topic %q as group %q at %s", t, s.Group, brokers)
	}
	return out
}

// check finds what the schema cannot say.
func (s *Settings) check() sdk.Diagnostics {
	var d sdk.Diagnostics
	for i, b := range s.Brokers {
		if why := badAddress(b); why != "" {
			d = append(d, diagnose([]string{"brokers", strconv.Itoa(i)}, "Not a broker's address", why+" Write host:port, for example 127.0.0.1:9092."))
		}
	}
	seen := make(map[string]bool)
	for i, t := range s.Topics {
		if why := badTopic(t, seen); why != "" {
			d = append(d, diagnose([]string{"topics", strconv.Itoa(i)}, "Not a topic's name", why))
		}
		seen[t] = true
	}
	if s.Heartbeat*3 > s.SessionTimeout {
		d.Errorf("heartbeat_interval", "Heartbeats too rare", "Set heartbeat_interval to a third of session_timeout or less, so that one lost heartbeat does not cost the membership.")
	}
	if s.RevokeTimeout >= s.RebalanceTimeout {
		d.Errorf("revoke_timeout", "No time left to rejoin the group", "Set revoke_timeout below rebalance_timeout: a member that gives up its partitions later than that is put out of the group.")
	}
	d = append(d, s.checkPosition()...)
	d = append(d, s.checkBalancers()...)
	return append(d, s.checkSecurity()...)
}

func (s *Settings) checkSecurity() sdk.Diagnostics {
	var d sdk.Diagnostics
	if s.TLS != nil {
		if _, err := s.TLS.config(); err != nil {
			d = append(d, diagnose([]string{"tls"}, "Unusable TLS settings", err.Error()))
		}
	}
	if s.SASL != nil && s.SASL.Mechanism == "plain" && s.TLS == nil {
		x := diagnose([]string{"sasl", "mechanism"}, "Password sent in the clear", "Without a tls block, plain shows the password to whoever sees the connection. Add tls, or use scram-sha-512.")
		x.Severity = sdk.SeverityWarning
		d = append(d, x)
	}
	return d
}

func badAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "There is no port, or too many colons."
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "The port is no number from 1 to 65535."
	}
	if host == "" || strings.ContainsAny(host, " \t/") {
		return "The host is missing or holds a character that no host has."
	}
	return ""
}

const maxTopicName = 249

func badTopic(t string, seen map[string]bool) string {
	switch {
	case seen[t]:
		return "It stands there twice. Name each topic once."
	case t == "" || t == "." || t == ".." || len(t) > maxTopicName:
		return "A topic's name has 1 to 249 characters and is neither . nor .. ."
	case strings.IndexFunc(t, func(c rune) bool { return !topicRune(c) }) >= 0:
		return "A topic's name has only letters, digits, dot, underscore and hyphen."
	}
	return ""
}

func topicRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

func diagnose(path []string, summary, detail string) sdk.Diagnostic {
	return sdk.Diagnostic{Severity: sdk.SeverityError, Path: path, Summary: summary, Detail: detail}
}
