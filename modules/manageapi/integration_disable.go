package manageapi

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// longestReason is the length of an operator's longest reason, in characters.
const longestReason = 200

// disable holds the exports for an integration until a person enables it. It needs no Temporal: each delivery asks the
// store before its next attempt.
func disable(r *rest.Request) (any, error) {
	in, err := rest.DecodeAny[api.DisableInput](r)
	if err != nil {
		return nil, err
	}
	reason := strings.TrimSpace(in.Reason)
	if utf8.RuneCountInString(reason) > longestReason || strings.ContainsFunc(reason, unicode.IsControl) {
		return nil, problem.Newf(http.StatusUnprocessableEntity,
			"reason: write one line of at most %d characters", longestReason)
	}
	i, err := findIntegration(r)
	if err != nil {
		return nil, err
	}
	status := store.IntegrationStatus{State: model.Disabled, Reason: "an operator disabled it", ByOperator: true,
		UpdatedAt: r.Now()}
	if reason != "" {
		status.Reason = "an operator disabled it, because: " + reason
	}
	err = r.Update(func(tx *store.Tx) error {
		before, err := tx.IntegrationStatus(i)
		switch {
		case err != nil:
			return err
		case before.State == model.Removed:
			return noIntegration
		}
		status.Attempts = before.Attempts
		return tx.UpsertIntegrationStatus(i, status)
	})
	if err != nil {
		return nil, err
	}
	return integrationOf(i, status), nil
}
