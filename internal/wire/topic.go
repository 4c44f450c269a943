package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

var presences = map[sdk.Presence]twgpb.TopicPresence{
	sdk.TopicThere:   twgpb.TopicPresence_TOPIC_PRESENCE_THERE,
	sdk.TopicPending: twgpb.TopicPresence_TOPIC_PRESENCE_PENDING,
	sdk.TopicAbsent:  twgpb.TopicPresence_TOPIC_PRESENCE_ABSENT,
}

func toTopic(t sdk.Topic) *twgpb.TopicState {
	return &twgpb.TopicState{Topic: []byte(t.Name), Presence: presences[t.Presence], Reason: t.Reason}
}

func fromTopic(t *twgpb.TopicState) sdk.Topic {
	presence, ok := keyOf(presences, t.GetPresence())
	if !ok {
		presence = sdk.TopicPending
	}
	return sdk.Topic{Name: string(t.GetTopic()), Presence: presence, Reason: t.GetReason()}
}
