package hropen_test

import (
	"cmp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hiregate/hiregate/internal/hropen"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/schemas"
)

// What was checked is always exported in a valid body, and read back it is the same.
func TestWhatIsBuiltIsValidAndReadsBack(t *testing.T) {
	t.Parallel()
	validators := make(map[string]*schemas.Validator)
	services := []string{"Service", "Acme", "a.b+c"}
	for _, s := range services {
		validators[s] = validatorFor(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(services).Draw(t, "service")
		n := namesFor(t, name)
		c := drawCandidate(t)
		require.NoError(t, c.Validate())
		apps := list(rapid.Custom(func(t *rapid.T) hropen.Application { return drawApplication(t, c.ID) })).Draw(t,
			"applications")
		for _, a := range apps {
			require.NoError(t, a.Validate())
			if a.Job != nil {
				job := *a.Job
				job.BoardCode = "b-1" // not exported
				require.NoError(t, job.Validate())
			}
		}

		body, err := hropen.Build(n, c, apps)
		require.NoError(t, err)
		requireValid(t, validators[name], body)

		got, gotApps, err := hropen.Read(n, body)
		require.NoError(t, err)
		c.Name.Formatted = cmp.Or(c.Name.Formatted, model.FormattedName(c.Name.Given, c.Name.Family))
		require.Equal(t, c, got)
		require.Equal(t, apps, gotApps)

		again, err := hropen.Build(n, got, gotApps)
		require.NoError(t, err)
		require.Equal(t, string(body), string(again))
	})
}

var (
	text = rapid.OneOf(
		rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "\x00") }),
		rapid.SampledFrom([]string{"", "null", `"\`, "<&>", "a\u2028b", "é\n\t\x01\x7f", "\ufffe\U0010ffff", "😀",
			"Service Start Date", "2026-02-30"}),
	)
	id = rapid.StringOfN(rapid.RuneFrom(nil, unicode.L, unicode.N, unicode.P, unicode.S, unicode.Z), 1, 255,
		-1).Filter(func(s string) bool { return strings.TrimSpace(s) == s && !model.HasDotSegment(s) })
	language = rapid.SampledFrom([]string{"en-US", "de", "zh-Hant-TW", "sl-rozaj-biske", "qaa-Qaaa-QM-x-southern"})
	date     = rapid.Custom(func(t *rapid.T) string { return moment.Draw(t, "day").Format(time.DateOnly) })
	moment   = rapid.Custom(func(t *rapid.T) time.Time {
		first, last := time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		return time.Unix(rapid.Int64Range(first.Unix(), last.Unix()).Draw(t, "second"), 0).UTC()
	})
	customField = rapid.Custom(func(t *rapid.T) model.CustomField {
		return model.CustomField{ID: id.Draw(t, "id"), Name: id.Draw(t, "name"), Type: id.Draw(t, "type"),
			Value: text.Draw(t, "value")}
	})
)

func list[T any](of *rapid.Generator[T]) *rapid.Generator[[]T] { return rapid.SliceOfN(of, 0, 3) }

// maybe is a value or none.
func maybe[T any](t *rapid.T, of *rapid.Generator[T], label string) (v T) {
	if rapid.Bool().Draw(t, "has "+label) {
		v = of.Draw(t, label)
	}
	return v
}

func drawCandidate(t *rapid.T) *model.Candidate {
	return &model.Candidate{
		ID:           id.Draw(t, "candidate"),
		AlternateIDs: list(id).Draw(t, "alternateIds"),
		Name: model.Name{Formatted: text.Draw(t, "formatted"), Given: text.Draw(t, "given"),
			Family: text.Draw(t, "family")},
		Gender:      text.Draw(t, "gender"),
		CitizenShip: list(text).Draw(t, "citizenShip"),
		ApplyDate:   maybe(t, date, "applyDate"),
		Address: list(rapid.Custom(func(t *rapid.T) model.Address {
			return model.Address{
				Subdivisions: list(rapid.Custom(func(t *rapid.T) model.Subdivision {
					return model.Subdivision{Type: text.Draw(t, "type"), Value: text.Draw(t, "value")}
				})).Draw(t, "subdivisions"),
				City:       text.Draw(t, "city"),
				PostalCode: text.Draw(t, "postalCode"),
				Line:       text.Draw(t, "line"),
				Formatted:  text.Draw(t, "formatted"),
			}
		})).Draw(t, "address"),
		Phone:        list(text).Draw(t, "phone"),
		Email:        list(text).Draw(t, "email"),
		Web:          text.Draw(t, "web"),
		CustomFields: list(customField).Draw(t, "customFields"),
	}
}

// drawApplication leaves out what has no place in an export: the job board code, the step's id, and without a job the
// status and the start date.
func drawApplication(t *rapid.T, candidate string) hropen.Application {
	a := hropen.Application{
		JobApplication: &model.JobApplication{
			ID:           id.Draw(t, "application"),
			LegacyID:     maybe(t, id, "legacyId"),
			Candidate:    candidate,
			LanguageCode: language.Draw(t, "language"),
			Education: list(rapid.Custom(func(t *rapid.T) model.Education {
				return model.Education{Levels: list(text).Draw(t, "levels")}
			})).Draw(t, "education"),
		},
		Attachments: list(rapid.Custom(func(t *rapid.T) hropen.Attachment {
			return hropen.Attachment{ID: id.Draw(t, "document"), Descriptions: list(text).Draw(t, "descriptions"),
				URL: text.Draw(t, "url")}
		})).Draw(t, "attachments"),
	}
	if rapid.Bool().Draw(t, "has job") {
		a.Job = &model.Job{
			ID: id.Draw(t, "job"), LegacyID: maybe(t, id, "legacyId"), Title: text.Draw(t, "title"), URI: text.Draw(t, "uri"),
			CustomFields: list(customField).Draw(t, "customFields"),
		}
		a.Status = model.Status{Name: text.Draw(t, "status"), Category: text.Draw(t, "category"),
			EnteredAt: maybe(t, moment, "enteredAt")}
		if rapid.Bool().Draw(t, "has start date") {
			a.StartDate = &model.StartDate{ID: id.Draw(t, "id"), Date: date.Draw(t, "date")}
		}
	}
	return a
}
