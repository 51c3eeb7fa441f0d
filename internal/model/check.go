package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"golang.org/x/text/language"
)

// Validate says all that is wrong with a candidate, or nil. The error is an *InvalidError. So it is with the other
// Check methods: what they let pass can be stored by every database and exported in a body that the export schema
// accepts. Row is not looked at.
func (c *Candidate) Validate() error {
	var k checker
	k.segment("id", c.ID)
	entries(&k, "alternateIds", c.AlternateIDs, k.id)
	k.text("name.formattedName", c.Name.Formatted)
	k.text("name.given", c.Name.Given)
	k.text("name.family", c.Name.Family)
	k.text("gender", c.Gender)
	entries(&k, "citizenShip", c.CitizenShip, k.text)
	if c.ApplyDate != "" {
		k.date("applyDate", c.ApplyDate)
	}
	k.addresses(c.Address)
	entries(&k, "phone", c.Phone, k.text)
	entries(&k, "email", c.Email, k.text)
	k.textUpTo("web", c.Web, maxWeb)
	entries(&k, "customFields", c.CustomFields, k.customField)
	return k.err()
}

// Validate is for a job as Candidate.Validate is for a candidate.
func (j *Job) Validate() error {
	var k checker
	k.segment("jobBoardCode", j.BoardCode)
	k.id("id", j.ID)
	k.idOrNone("legacyId", j.LegacyID)
	k.text("title", j.Title)
	k.text("uri", j.URI)
	k.text("place", j.Place)
	k.textUpTo("description", j.Description, maxDescription)
	if j.LanguageCode != "" {
		k.language("languageCode", j.LanguageCode)
	}
	if !IsTime(j.ClosesAt) {
		k.fault("closesAt", "is not in the years 1 to 9999: write the time from which on nobody can apply, with its zone")
	}
	if j.KeepApplications != 0 && (j.KeepApplications < ShortestKept || j.KeepApplications > LongestKept) {
		k.fault("keepApplications", fmt.Sprintf("is no number of days that an application can be kept for: write %d to %d",
			ShortestKept, LongestKept))
	}
	entries(&k, "customFields", j.CustomFields, k.customField)
	k.questions(j.Questions)
	return k.err()
}

// Validate is for a step, and for its helper, as Candidate.Validate is for a candidate.
func (s *Step) Validate() error {
	var k checker
	k.stepID("id", s.ID)
	k.required("name", s.Name)
	k.text("category", s.Category)
	if s.Position < 0 {
		k.fault("position", "is negative: count the steps from 0")
	}
	if s.Helper != nil {
		named := map[string]bool{}
		entries(&k, "helper.integrations", s.Helper.Integrations, func(member, integration string) {
			switch {
			case ValidateIntegrationName(integration) != nil:
				k.fault(member, "is no integration's name: use 1 to 63 of the characters a-z, 0-9 and -")
			case named[integration]:
				k.fault(member, "is named before: name each integration once")
			}
			named[integration] = true
		})
	}
	return k.err()
}

// Validate is for a job application as Candidate.Validate is for a candidate. It may have no job and no status, and no
// language: it is exported with DefaultLanguage.
func (a *JobApplication) Validate() error {
	var k checker
	k.segment("id", a.ID)
	k.idOrNone("legacyId", a.LegacyID)
	k.id("candidate", a.Candidate)
	k.idOrNone("jobBoardCode", a.Job)
	if a.LanguageCode != "" {
		k.language("languageCode", a.LanguageCode)
	}
	k.education(a.Education)
	if a.StartDate != nil {
		k.id("startDate.id", a.StartDate.ID)
		k.date("startDate.date", a.StartDate.Date)
	}
	if a.Status.Step != "" {
		k.stepID("status.step", a.Status.Step)
	}
	k.text("status.name", a.Status.Name)
	k.text("status.category", a.Status.Category)
	k.text("status.unentered", a.Status.Unentered)
	if !IsTime(a.KeepUntil) {
		k.fault("keepUntil", "is not in the years 1 to 9999: write the time until which the applicant agreed to be kept")
	}
	if !IsTime(a.Status.EnteredAt) {
		k.fault("status.enteredAt", "is not in the years 1 to 9999: write the time at which the step was entered")
	}
	return k.err()
}

// Validate is for the description of a document as Candidate.Validate is for a candidate.
func (d *ApplicationDocument) Validate() error {
	var k checker
	k.segment("id", d.ID)
	entries(&k, "descriptions", d.Descriptions, k.text)
	k.idOrNone("fileName", d.FileName)
	k.idOrNone("mediaType", d.MediaType)
	return k.err()
}

func (k *checker) customField(member string, f CustomField) {
	k.id(member+".id", f.ID)
	k.required(member+".name", f.Name)
	k.required(member+".type", f.Type)
	k.text(member+".value", f.Value)
	if f.Value == "" {
		return
	}
	switch f.Type { // users may configure further ones
	case "number":
		if !json.Valid([]byte(f.Value)) || strings.ContainsAny(f.Value[:1], `"{[tfn `) {
			k.fault(member+".value", "is no number: write one such as 4 or 2.5")
		}
	case "date":
		k.date(member+".value", f.Value)
	case "boolean":
		if f.Value != "true" && f.Value != "false" {
			k.fault(member+".value", "is neither true nor false: write one of them")
		}
	}
}

func (k *checker) addresses(list []Address) {
	together := 0
	entries(k, "address", list, func(member string, a Address) {
		together += len(a.Subdivisions)
		entries(k, member+".countrySubdivisions", a.Subdivisions, func(member string, s Subdivision) {
			k.text(member+".type", s.Type)
			k.text(member+".value", s.Value)
		})
		k.text(member+".city", a.City)
		k.text(member+".postalCode", a.PostalCode)
		k.text(member+".line", a.Line)
		k.text(member+".formattedAddress", a.Formatted)
	})
	k.together("address", "countrySubdivisions", together)
}

func (k *checker) education(list []Education) {
	together := 0
	entries(k, "education", list, func(member string, e Education) {
		together += len(e.Levels)
		entries(k, member+".educationLevelCodes", e.Levels, k.text)
	})
	k.together("education", "educationLevelCodes", together)
}

// IsDate reports whether s is a day that exists, as YYYY-MM-DD, from year 1 on: the contract's field type date.
func IsDate(s string) bool {
	day, err := time.Parse(time.DateOnly, s)
	return err == nil && day.Year() >= 1
}

// IsTime reports whether the contract's field type datetime can hold t: in UTC it lies in the years 1 to 9999.
func IsTime(t time.Time) bool {
	year := t.UTC().Year()
	return 1 <= year && year <= 9999
}

// languageTag has the characters of language tags; the parser would also accept an underscore.
var languageTag = regexp.MustCompile(`^[A-Za-z0-9-]{1,255}$`)

// isLanguage reports whether s is a well-formed language tag (RFC 5646 section 2.2.9). Its subtags need not be
// registered.
func isLanguage(s string) bool {
	if !languageTag.MatchString(s) {
		return false
	}
	_, err := language.Parse(s)
	var unregistered language.ValueError
	return err == nil || errors.As(err, &unregistered)
}
