package hropen

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// Build writes the body of a CANDIDATE-EXPORT: every array and object of the contract, empty where there is nothing; a
// string that is unknown is left out; the start date entry, the first of an opening's custom fields, is there if there
// is a start date.
//
// What has passed the Check methods of package hiring makes a body that the export schema accepts. The error of
// anything else is a sentence with the place in the body, never its value: a text that is not UTF-8, a day or a time
// that does not exist.
func Build(n webhook.Names, c *model.Candidate, apps []Application) ([]byte, error) {
	b := builder{names: n}
	doc := body{candidate{
		AlternateIDs: b.ids(legacyCandidate, c.AlternateIDs),
		Person:       b.person(c),
		Profiles:     each(apps, b.profile),
	}}
	if b.err != nil {
		return nil, b.err
	}
	out, err := json.Marshal(doc)
	if bad := new(jsontext.SyntacticError); errors.As(err, &bad) {
		return nil, fmt.Errorf("%s of the export is not valid UTF-8: store it anew", bad.JSONPointer)
	}
	if err != nil {
		return nil, fmt.Errorf("writing the export: %w", err)
	}
	return out, nil
}

type builder struct {
	names webhook.Names
	err   error // the first fault
}

func (b *builder) fault(sentence string) {
	if b.err == nil {
		b.err = errors.New(sentence)
	}
}

func (b *builder) id(kind, value string) identifier {
	return identifier{Value: value, SchemeID: b.names.SchemeID(kind), SchemeAgencyID: b.names.Service}
}

func (b *builder) ids(kind string, values []string) []identifier {
	return each(values, func(v string) identifier { return b.id(kind, v) })
}

// legacy is the alternateIds of what has one legacy id or none.
func (b *builder) legacy(kind, value string) []identifier {
	if value == "" {
		return nil
	}
	return []identifier{b.id(kind, value)}
}

func (b *builder) person(c *model.Candidate) person {
	if c.ApplyDate != "" && !model.IsDate(c.ApplyDate) {
		b.fault("applyDate of the candidate is no day: write one that exists as YYYY-MM-DD")
	}
	return person{
		ID:          b.id(candidateID, c.ID),
		Name:        writeName(c.Name),
		Gender:      c.Gender,
		CitizenShip: c.CitizenShip,
		ApplyDate:   c.ApplyDate,
		Communication: communication{
			Address: each(c.Address, writeAddress),
			Phone:   each(c.Phone, func(s string) phone { return phone{s} }),
			Email:   each(c.Email, func(s string) email { return email{s} }),
			Web:     c.Web,
		},
		CustomFields: each(c.CustomFields, b.customField),
	}
}

// writeName writes a name; without a formatted one, that is made of the others.
func writeName(n model.Name) name {
	n.Formatted = cmp.Or(n.Formatted, model.FormattedName(n.Given, n.Family))
	return name(n)
}

func writeAddress(a model.Address) address {
	return address{
		Subdivisions: each(a.Subdivisions, func(s model.Subdivision) subdivision { return subdivision(s) }),
		City:         a.City,
		PostalCode:   a.PostalCode,
		Line:         a.Line,
		Formatted:    a.Formatted,
	}
}

func (b *builder) customField(f model.CustomField) customField {
	return customField{ID: b.id(customFieldID, f.ID), Name: f.Name, Type: f.Type, Value: f.Value}
}

func (b *builder) profile(a Application) profile {
	p := profile{
		AlternateIDs: b.legacy(legacyJobApplication, a.LegacyID),
		LanguageCode: a.LanguageCode,
		ProfileID:    b.id(jobApplication, a.ID),
		Education: each(a.Education, func(e model.Education) education {
			return education{each(e.Levels, func(s string) level { return level{s} })}
		}),
		Attachments: each(a.Attachments, func(d Attachment) attachment {
			return attachment{ID: b.id(documentToCandidate, d.ID), Descriptions: d.Descriptions, URL: d.URL}
		}),
	}
	if p.LanguageCode == "" {
		p.LanguageCode = model.DefaultLanguage
	}
	if a.Job != nil {
		p.Openings = []positionOpening{b.opening(a)}
	}
	return p
}

func (b *builder) opening(a Application) positionOpening {
	fields := each(a.Job.CustomFields, b.customField)
	if s := a.StartDate; s != nil {
		if !model.IsDate(s.Date) {
			b.fault("startDate of a job application is no day: write one that exists as YYYY-MM-DD")
		}
		entry := customField{ID: b.id(startDate, s.ID), Name: startDateName, Type: startDateType, Value: s.Date}
		fields = append([]customField{entry}, fields...)
	}
	return positionOpening{
		AlternateIDs: b.legacy(legacyJob, a.Job.LegacyID),
		ID:           b.id(job, a.Job.ID),
		Title:        a.Job.Title,
		URI:          a.Job.URI,
		Status: status{Name: a.Status.Name, Category: a.Status.Category,
			TransitionDateTime: b.datetime(a.Status.EnteredAt)},
		CustomFields: fields,
	}
}

func (b *builder) datetime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	if !model.IsTime(t) {
		b.fault("status.enteredAt of a job application is not in the years 1 to 9999: enter the step anew")
	}
	return t.UTC().Format(datetime)
}
