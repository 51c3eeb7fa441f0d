package model

import (
	"strings"
	"time"
)

// Row is what the store keeps of every resource beside its content.
type Row struct {
	Tenant    string    `json:"tenant"`
	Version   int64     `json:"version"` // 1 at first, one more with each change; 0: not stored yet
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Candidate is a person, as an export describes them (contract, "HROpen Candidate object"). The property names are the
// contract's; where it has an array of objects with one string each, there is an array of these strings here.
type Candidate struct {
	Row
	ID           string        `json:"id"`           // person.id
	AlternateIDs []string      `json:"alternateIds"` // legacy candidate ids
	Name         Name          `json:"name"`
	Gender       string        `json:"gender,omitempty"`
	CitizenShip  []string      `json:"citizenShip"`         // work authorization
	ApplyDate    string        `json:"applyDate,omitempty"` // YYYY-MM-DD
	Address      []Address     `json:"address"`
	Phone        []string      `json:"phone"`
	Email        []string      `json:"email"`
	Web          string        `json:"web,omitempty"` // an HTML template: never rendered raw
	CustomFields []CustomField `json:"customFields"`
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
	Subdivisions []Subdivision `json:"countrySubdivisions"`
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
	ID    string `json:"id"`
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
}
