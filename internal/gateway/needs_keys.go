package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// endingWithin is how long before its end somebody should know that a secret or an API key is still used.
const endingWithin = 7 * 24 * time.Hour

// endingSecrets finds inbound secrets that end soon and are still used.
func endingSecrets(r *Runtime, ctx context.Context, now time.Time) (needs []model.Need, err error) {
	uses, err := r.Store().ListSecretUses(ctx)
	if err != nil {
		return nil, err
	}
	for t := range r.InForce.Current().All() {
		for _, number := range t.SecretsEndingUsed(uses.Of(t), now, endingWithin) {
			end := t.SecretEnds[t.Secrets[number-1]]
			needs = append(needs, model.Need{Kind: model.NeedSecret, Tenant: t.Name, Since: end.Add(-endingWithin),
				Sentence: fmt.Sprintf("%s: its service still signs with secret %d, which ends at %s: have it sign with another one, "+
					"or let this one go on", t.Name, number, end.UTC().Format(time.RFC3339)),
				Action: "hiregate tenant show " + t.Name})
		}
	}
	return needs, nil
}

// expiringKeys finds API keys that expire soon and are used. What they are called is for administrators.
func expiringKeys(r *Runtime, ctx context.Context, now time.Time) (needs []model.Need, err error) {
	keys, err := r.Store().ListExpiringAPIKeys(ctx, now, now.Add(endingWithin))
	for _, k := range keys {
		end := k.ExpiresAt.UTC().Format(time.RFC3339)
		sentence := "an API key of all tenants expires at " + end + " and is used: make another one, and give it to whoever has this one"
		if k.Tenant != "" {
			sentence = fmt.Sprintf("%s: an API key expires at %s and is used: make another one, and give it to whoever has this one",
				k.Tenant, end)
		}
		needs = append(needs, model.Need{Kind: model.NeedAPIKey, Tenant: k.Tenant, Since: k.ExpiresAt.Add(-endingWithin), Sentence: sentence,
			Action: "hiregate api-key show " + k.ID})
	}
	return needs, err
}
