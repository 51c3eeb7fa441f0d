package model

import (
	"strings"
	"time"
)

// Row has the columns that every stored resource has beside its content.
type Row struct {
	Tenant    string    `json:"tenant" schema:"ref=ShortName"`
	Version   int64     `json:"version" schema:"minimum=1"` // 1 at first, one more with each change; 0: not stored yet
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Candidate is a person, as an export describes them (contract, "HROpen Candidate object"). The property names are the
// contract's; where it has an array of objects with one string each, there is an array of these strings here.
type Candidate struct {
	Row
	ID           string        `json:"id" schema:"ref=Id"`                              // person.id
	AlternateIDs []string      `json:"alternateIds" schema:"maxItems=100 items.ref=Id"` // legacy candidate ids
	Name         Name          `json:"name"`
	Gender       string        `json:"gender,omitempty"`
	CitizenShip  []string      `json:"citizenShip" schema:"maxItems=100"` // work authorization
	ApplyDate    string        `json:"applyDate,omitempty"`               // YYYY-MM-DD
	Address      []Address     `json:"address" schema:"maxItems=100"`
	Phone        []string      `json:"phone" schema:"maxItems=100"`
	Email        []string      `json:"email" schema:"maxItems=100"`
	Web          string        `json:"web,omitempty"` // an HTML template: never render it as it is
	CustomFields []CustomField `json:"customFields" schema:"maxItems=100"`
}

// Name is a person's name.
type Name struct {
	Formatted string `json:"formattedName,omitempty"`
	Given     string `json:"given,omitempty"`
	Family    string `json:"family,omitempty"`
}

// FormattedName makes the formatted name of the others. It is cut to what Candidate.Validate lets pass: each of them
// may be that long.
func FormattedName(given, family string) string {
	name := given + " " + family
	return strings.TrimSpace(strings.ToValidUTF8(name[:min(len(name), maxText)], ""))
}

// Address is a postal address.
type Address struct {
	Subdivisions []Subdivision `json:"countrySubdivisions" schema:"optional"`
	City         string        `json:"city,omitempty"`
	PostalCode   string        `json:"postalCode,omitempty"`
	Line         string        `json:"line,omitempty"`
	Formatted    string        `json:"formattedAddress,omitempty"`
}

// Subdivision is a part of a country, such as a state.
type Subdivision struct {
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
}

// CustomField is a field that users configured, of a candidate or of a job.
type CustomField struct {
	ID    string `json:"id" schema:"ref=Id"`
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
}
