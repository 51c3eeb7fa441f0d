package signin

import (
	"net/http"

	"github.com/go-jose/go-jose/v4"

	"github.com/hiregate/hiregate/internal/identity"
)

// cacheable lets applications cache an answer that is the same for all, for less time than keys are published ahead.
func cacheable(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("Access-Control-Allow-Origin", "*")
}

// discovery answers with our metadata (OpenID Connect Discovery 1.0 section 3, RFC 8414).
func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	claims := []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "sid"}
	for _, c := range userClaims {
		claims = append(claims, c.name)
	}
	cacheable(w)
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer":                                         p.Issuer,
		"authorization_endpoint":                         p.Issuer + "/oauth/authorize",
		"token_endpoint":                                 p.Issuer + "/openId/accessToken",
		"userinfo_endpoint":                              p.Issuer + "/oauth/userinfo",
		"jwks_uri":                                       p.Issuer + "/oauth/jwks",
		"revocation_endpoint":                            p.Issuer + "/oauth/revoke",
		"end_session_endpoint":                           p.Issuer + "/oauth/logout",
		"backchannel_logout_supported":                   true,
		"backchannel_logout_session_supported":           true,
		"scopes_supported":                               scopes,
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query", "form_post"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token"},
		"subject_types_supported":                        []string{"public"},
		"id_token_signing_alg_values_supported":          identity.Algorithms,
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "client_secret_post"},
		"revocation_endpoint_auth_methods_supported":     []string{"client_secret_basic", "client_secret_post"},
		"code_challenge_methods_supported":               []string{"S256"},
		"claims_supported":                               claims,
		"claims_parameter_supported":                     true,
		"request_parameter_supported":                    false,
		"request_uri_parameter_supported":                false,
		"require_request_uri_registration":               false,
		"authorization_response_iss_parameter_supported": true,
		"prompt_values_supported":                        []string{"none", "login", "consent", "select_account"},
		"display_values_supported":                       []string{"page", "popup"},
		"ui_locales_supported":                           languages(),
	})
}

// jwks answers with the public keys (RFC 7517): those whose tokens may still be valid, and the next ones.
func (p *Provider) jwks(w http.ResponseWriter, r *http.Request) {
	keys, err := p.Ring.all(r.Context())
	if err != nil {
		p.storeAway(w, r, err)
		return
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, k := range keys {
		if k.published {
			set.Keys = append(set.Keys, k.public())
		}
	}
	cacheable(w)
	writeJSON(w, http.StatusOK, set)
}
