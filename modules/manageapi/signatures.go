package manageapi

import (
	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

func showSignatures(r *rest.Request) (any, error) {
	uses, err := r.DB.SecretUses(r.Context(), r.Tenant.Name)
	if err != nil {
		return nil, err
	}
	refused, err := r.DB.RefusedSignatures(r.Context(), r.Tenant.Name)
	if err != nil {
		return nil, err
	}
	shown := api.Signatures{Secrets: []api.SecretUse{},
		Refused: api.RefusedSignatures{Count: refused.Count, LastAt: refused.Last}}
	for n, at := range uses.Of(r.Tenant) {
		shown.Secrets = append(shown.Secrets, api.SecretUse{Number: n + 1, LastUsedAt: at,
			EndsAt: r.Tenant.SecretEnds[r.Tenant.Secrets[n]]})
	}
	return shown, nil
}
