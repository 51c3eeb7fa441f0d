package send

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/schemas"
)

// payload is the body of an export with the values of its headers.
type payload struct {
	body    []byte
	link    string            // URL of the candidate's profile in the service
	context string            // of the first job; empty: the candidate is attached to none
	spans   *schemas.Document // nil: not an export, see problem
	problem error             // why the body is not an export; it can still be sent
}

// profileURL is the address below which the service would show its candidates; the name is reserved (RFC 2606).
const profileURL = "https://service.example/candidates/"

// newPayload reads the payload from path, or makes a minimal export of a new candidate when path is empty. That one
// has as many attachments as documents are given.
func newPayload(path, serviceName string, documents int) (*payload, error) {
	p := new(payload)
	var err error
	if path == "" {
		p.body, err = minimalExport(serviceName, documents)
	} else {
		p.body, err = os.ReadFile(path)
		err = fileSentence("--payload", path, err)
	}
	if err != nil {
		return nil, err
	}
	if p.spans, p.problem = schemas.Guard(p.body); p.problem != nil {
		p.spans = nil
		return p, nil
	}
	if p.spans.CandidateID != "" {
		p.link = profileURL + url.PathEscape(p.spans.CandidateID)
	}
	p.context = exportContext(p.body)
	return p, nil
}

// exportContext names the first job that the body names. The contract leaves the format of X-Service-Export-Context
// open; escaped as in a URL's path, any id fits into a header.
func exportContext(body []byte) string {
	var export struct {
		Candidate struct {
			Profiles []struct {
				AssociatedPositionOpenings []struct {
					PositionOpeningID struct {
						Value string `json:"value"`
					} `json:"positionOpeningId"`
				} `json:"associatedPositionOpenings"`
			} `json:"profiles"`
		} `json:"candidate"`
	}
	// A body of another shape is for the receiver to judge.
	_ = json.Unmarshal(body, &export)
	for _, profile := range export.Candidate.Profiles {
		for _, job := range profile.AssociatedPositionOpenings {
			if job.PositionOpeningID.Value != "" {
				return url.PathEscape(job.PositionOpeningID.Value)
			}
		}
	}
	return ""
}

// minimalExport is the least that is valid, with a random candidate id.
func minimalExport(serviceName string, attachments int) ([]byte, error) {
	type object map[string]any
	id := func(kind string) object {
		return object{"value": uuid.NewString(), "schemeId": serviceName + " " + kind, "schemeAgencyId": serviceName}
	}
	profiles := []object{}
	if attachments > 0 {
		all := make([]object, attachments)
		for n := range all {
			all[n] = object{"id": id("Document to Candidate"), "descriptions": []string{}, "url": ""}
		}
		profiles = append(profiles, object{"attachments": all})
	}
	body, err := json.Marshal(object{"candidate": object{"person": object{"id": id("Candidate")}, "profiles": profiles}})
	if err != nil {
		return nil, fmt.Errorf("building a minimal export: %w", err)
	}
	return body, nil
}

// fileSentence says what to do about a file that a flag names and that can't be used. A nil error stays nil.
func fileSentence(flag, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %s: there is no such file; check the path", flag, path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s %s: you are not allowed to read it; check its permissions", flag, path)
	default:
		return fmt.Errorf("%s %s can't be read: %w", flag, path, terminal.Cause(err))
	}
}
