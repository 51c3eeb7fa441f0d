package api

import "time"

// APIUser is a user of the Apply API.
type APIUser struct {
	ID       string `json:"id" schema:"ref=Id"`
	Tenant   string `json:"tenant" schema:"ref=ShortName"`
	UserName string `json:"userName"`
	// made by the gateway, only in the answer that makes it
	Password   string    `json:"password,omitempty" schema:"once pattern=^[A-Za-z0-9_-]{43}$"`
	CreatedAt  time.Time `json:"createdAt"`
	DisabledAt time.Time `json:"disabledAt,omitzero"` // absent: the user is enabled
}

// APIUserInput makes a user of the Apply API.
type APIUserInput struct {
	UserName string `json:"userName" schema:"maxLength=255"` // an e-mail address, which belongs to one user of the tenant
	PasswordInput
}

// PasswordInput sets a password.
type PasswordInput struct {
	// left out: the gateway makes one, and shows it once
	Password string `json:"password,omitzero" schema:"minLength=8 maxLength=1024"`
}
