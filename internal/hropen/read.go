package hropen

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// Read is the reverse of Build, for a body that the guard and the export schema accept: what is absent or null is
// empty, properties that the contract does not know are passed over. All slices are set. What an export doesn't carry
// stays empty: job board codes, the ids of steps, and all of Row.
//
// Where the body has more than there is room for, the first counts: one position opening of a job application, one
// legacy id of it and of its job, one start date.
//
// The error holds nothing of the candidate.
func Read(n webhook.Names, text []byte) (*model.Candidate, []Application, error) {
	var doc body
	if err := json.Unmarshal(text, &doc); err != nil {
		if where := new(json.SemanticError); errors.As(err, &where) {
			return nil, nil, fmt.Errorf("reading the export: %s is not of the contract's type", where.JSONPointer)
		}
		return nil, nil, errors.New("reading the export: it is not JSON as the guard accepts it")
	}
	c := readPerson(doc.Candidate)
	apps := make([]Application, len(doc.Candidate.Profiles))
	for i, p := range doc.Candidate.Profiles {
		a, err := readProfile(n, c.ID, p)
		if err != nil {
			return nil, nil, fmt.Errorf("reading profile %d of the export: %w", i, err)
		}
		apps[i] = a
	}
	return c, apps, nil
}

func readPerson(c candidate) *model.Candidate {
	p := c.Person
	return &model.Candidate{
		ID:           p.ID.Value,
		AlternateIDs: each(c.AlternateIDs, func(id identifier) string { return id.Value }),
		Name:         model.Name(p.Name),
		Gender:       p.Gender,
		CitizenShip:  texts(p.CitizenShip),
		ApplyDate:    p.ApplyDate,
		Address:      each(p.Communication.Address, readAddress),
		Phone:        each(p.Communication.Phone, func(p phone) string { return p.FormattedNumber }),
		Email:        each(p.Communication.Email, func(e email) string { return e.Address }),
		Web:          p.Communication.Web,
		CustomFields: each(p.CustomFields, readCustomField),
	}
}

func readAddress(a address) model.Address {
	return model.Address{
		Subdivisions: each(a.Subdivisions, func(s subdivision) model.Subdivision { return model.Subdivision(s) }),
		City:         a.City,
		PostalCode:   a.PostalCode,
		Line:         a.Line,
		Formatted:    a.Formatted,
	}
}

func readCustomField(f customField) model.CustomField {
	return model.CustomField{ID: f.ID.Value, Name: f.Name, Type: f.Type, Value: f.Value}
}

func readProfile(n webhook.Names, candidate string, p profile) (Application, error) {
	a := Application{
		JobApplication: &model.JobApplication{
			ID:           p.ProfileID.Value,
			LegacyID:     first(p.AlternateIDs),
			Candidate:    candidate,
			LanguageCode: p.LanguageCode,
			Education: each(p.Education, func(e education) model.Education {
				return model.Education{Levels: each(e.Levels, func(l level) string { return l.Name })}
			}),
		},
		Attachments: each(p.Attachments, func(d attachment) Attachment {
			return Attachment{ID: d.ID.Value, Descriptions: texts(d.Descriptions), URL: d.URL}
		}),
	}
	if a.LanguageCode == "" {
		a.LanguageCode = model.DefaultLanguage
	}
	if len(p.Openings) == 0 {
		return a, nil
	}
	return a, a.attach(n, p.Openings[0])
}

// attach adds the job of the application, and what the contract keeps beside it: the status and the start date.
func (a *Application) attach(n webhook.Names, o positionOpening) error {
	a.Job = &model.Job{
		ID:           o.ID.Value,
		LegacyID:     first(o.AlternateIDs),
		Title:        o.Title,
		URI:          o.URI,
		CustomFields: []model.CustomField{},
	}
	for _, f := range o.CustomFields {
		switch {
		case f.ID.SchemeID != n.SchemeID(startDate):
			a.Job.CustomFields = append(a.Job.CustomFields, readCustomField(f))
		case a.StartDate == nil:
			a.StartDate = &model.StartDate{ID: f.ID.Value, Date: f.Value}
		}
	}
	a.Status = model.Status{Name: o.Status.Name, Category: o.Status.Category}
	if o.Status.TransitionDateTime == "" {
		return nil
	}
	entered, err := time.Parse(datetime, o.Status.TransitionDateTime)
	if err != nil {
		return errors.New("transitionDateTime is no time as YYYY-MM-DD HH:mm:ss")
	}
	a.Status.EnteredAt = entered
	return nil
}

func texts(list []string) []string { return each(list, func(s string) string { return s }) }

func first(ids []identifier) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0].Value
}
