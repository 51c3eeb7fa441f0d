package manageapi

import "github.com/hiregate/hiregate/internal/api"

func showSignatures(r *request) (any, error) {
	uses, err := r.db.SecretUses(r.Context(), r.tenant.Name)
	if err != nil {
		return nil, err
	}
	refused, err := r.db.RefusedSignatures(r.Context(), r.tenant.Name)
	if err != nil {
		return nil, err
	}
	shown := api.Signatures{Secrets: []api.SecretUse{},
		Refused: api.RefusedSignatures{Count: refused.Count, LastAt: refused.Last}}
	for n, at := range uses.Of(r.tenant) {
		shown.Secrets = append(shown.Secrets, api.SecretUse{Number: n + 1, LastUsedAt: at})
	}
	return shown, nil
}
