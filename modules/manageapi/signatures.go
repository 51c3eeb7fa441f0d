package manageapi

import "time"

// secretUse says when one of a tenant's inbound secrets was last used. It is stored once a minute.
type secretUse struct {
	Number     int       `json:"number"`              // among those of the tenant, in their order, from 1
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"` // absent: it was not used
}

// signatures are what the exports of a tenant are signed with. They have an address of their own: they change with each
// export, and the entity tag of the tenant does not.
type signatures struct {
	Secrets []secretUse       `json:"secrets"`
	Refused refusedSignatures `json:"refused"`
}

// refusedSignatures are the requests at the hook whose signature matched no secret.
type refusedSignatures struct {
	Count  int64     `json:"count"`
	LastAt time.Time `json:"lastAt,omitzero"` // absent: there was none
}

func showSignatures(r *request) (any, error) {
	uses, err := r.db.SecretUses(r.Context(), r.tenant.Name)
	if err != nil {
		return nil, err
	}
	refused, err := r.db.RefusedSignatures(r.Context(), r.tenant.Name)
	if err != nil {
		return nil, err
	}
	shown := signatures{Secrets: []secretUse{}, Refused: refusedSignatures{refused.Count, refused.Last}}
	for n, at := range uses.Of(r.tenant) {
		shown.Secrets = append(shown.Secrets, secretUse{n + 1, at})
	}
	return shown, nil
}
