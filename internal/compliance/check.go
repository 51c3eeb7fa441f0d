package compliance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
)

// Check says what is wrong with a job, its compliance groups among it, or nil. The error is an *model.InvalidError.
func Check(j *model.Job) error {
	var faults []string
	for n, group := range j.ComplianceGroups {
		at := fmt.Sprintf("complianceGroups[%d]", n)
		switch {
		case !slices.Contains(Groups, group):
			faults = append(faults, at+" is unknown: use "+strings.Join(Groups[:len(Groups)-1],
				", ")+" or "+Groups[len(Groups)-1])
		case slices.Contains(j.ComplianceGroups[:n], group):
			faults = append(faults, at+" is there twice: leave one out")
		}
		if n == len(Groups) {
			break
		}
	}
	for n := range j.Questions {
		if fault := Reserved(j.Questions[n].ID); fault != "" && len(faults) < 20 {
			faults = append(faults, fmt.Sprintf("questions[%d].%s", n, fault))
		}
	}
	err := j.Validate()
	if invalid, ok := err.(*model.InvalidError); ok {
		faults = append(slices.Clone(invalid.Faults), faults...)
	} else if err != nil {
		return err
	}
	if len(faults) == 0 {
		return nil
	}
	return &model.InvalidError{Faults: faults[:min(len(faults), 20)]}
}

// Reserved says why no question of a job's own may have an id; empty: it may.
func Reserved(id string) string {
	for _, group := range Groups {
		for _, q := range forms()[group].Questions {
			if q.ID == id {
				return "id is that of a question of " + group + ": name that in complianceGroups, and leave this one out"
			}
		}
	}
	return ""
}
