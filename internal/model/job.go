package model

// Job is a position opening. Within its tenant it is known by its job board code.
type Job struct {
	Row
	BoardCode string `json:"jobBoardCode"`
	// positionOpeningId; neither the job board code nor the legacy id
	ID           string        `json:"id"`
	LegacyID     string        `json:"legacyId,omitempty"` // job_id of the service's other public API
	Title        string        `json:"title,omitempty"`
	URI          string        `json:"uri,omitempty"`
	CustomFields []CustomField `json:"customFields"`

	Closed           bool       `json:"closed"`           // nobody can apply any more
	Syndicate        bool       `json:"syndicate"`        // while it is open, the public feed has it
	Questions        []Question `json:"questions"`        // but for those of the compliance groups
	ComplianceGroups []string   `json:"complianceGroups"` // whose questions are asked after the others
}

// Files is how many of the job's questions ask for a file.
func (j *Job) Files() (n int) {
	for _, q := range j.Questions {
		if q.Format == File {
			n++
		}
	}
	return n
}

// Step is a step of the hiring workflow. A job application that enters it gets its name and category as status.
type Step struct {
	Row
	ID       string  `json:"id"` // [a-z0-9-]{1,63}
	Name     string  `json:"name"`
	Category string  `json:"category,omitempty"`
	Position int     `json:"position"` // among the tenant's steps, from 0
	Helper   *Helper `json:"helper"`   // null: none
}

// Helper is the workflow helper of a step: it exports a candidate each time one of their job applications enters the
// step.
type Helper struct {
	Integrations []string `json:"integrations"` // whom it exports to; empty: every configured integration of the tenant
}
