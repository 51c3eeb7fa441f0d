package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// unservedHelpers finds steps whose helper names an integration that its tenant does not have.
func unservedHelpers(r *Runtime, ctx context.Context, _ time.Time) ([]model.Need, error) {
	c := r.InForce.Current()
	if c == nil {
		return nil, nil
	}
	steps, err := r.Store().ListHelpers(ctx)
	return helperNeeds(c, steps), err
}

// helperNeeds returns a need for each step of a configured tenant whose helper names an integration that the tenant
// does not have.
func helperNeeds(c *config.Config, steps []*model.Step) (needs []model.Need) {
	for _, s := range steps {
		tenant, known := c.Tenant(s.Tenant)
		if !known {
			continue
		}
		var gone []string
		for _, name := range s.Helper.Integrations {
			if _, there := tenant.Integration(name); !there {
				gone = append(gone, name)
			}
		}
		if len(gone) > 0 {
			needs = append(needs, model.Need{Kind: model.NeedHelper, Tenant: s.Tenant, Since: s.UpdatedAt, Sentence: fmt.Sprintf(
				"%s: the helper of step %s exports to what is no integration of the tenant, and nobody gets that: %s; add the "+
					"integration, or change the helper", s.Tenant, s.Name, strings.Join(gone, ", ")),
				Action: "hiregate step list " + s.Tenant})
		}
	}
	return needs
}

// UnservedHelpers returns a sentence for each step in the database whose helper names an integration that its tenant
// lacks in this configuration. It may be called while another gateway uses the database.
func (g *Gateway) UnservedHelpers(ctx context.Context) (sentences []string, err error) {
	steps, err := store.PeekHelpers(ctx, g.Runtime.database.Address)
	for _, need := range helperNeeds(g.Config, steps) {
		sentences = append(sentences, need.Sentence)
	}
	return sentences, err
}

// examineHelpers looks for steps whose helper names an integration that this configuration lacks. What is wrong with the
// database is said elsewhere.
func (g *Gateway) examineHelpers(ctx context.Context) (found []Finding) {
	unserved, _ := g.UnservedHelpers(ctx)
	for _, sentence := range unserved {
		found = append(found, Finding{"helpers", Warning, sentence})
	}
	return found
}
