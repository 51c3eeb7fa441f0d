package receiver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/schemas"
)

// reserveWithin bounds how long a body waits for the memory to read and validate it.
const reserveWithin = 5 * time.Second

// reserve takes the memory that reading and validating the body may need. Tenants share it fairly: a tenant with
// expensive bodies waits only for its own.
func (in *intake) reserve() (release func(), result string) {
	memory, tenant := in.Gateway.Runtime.Validations, in.tenant.Name
	// No body needs more than a tenant gets by itself.
	units := min(in.Limits.Weight(in.body), gateway.ValidationMemory/2)
	if !memory.Acquire(in.r.Context(), tenant, units, reserveWithin) {
		return nil, in.refuse("busy", tooBusy())
	}
	return func() { memory.Release(tenant, units) }, ""
}

// checkVerification refuses any body but that of a VERIFY event.
func (in *intake) checkVerification() (result string) {
	release, result := in.reserve()
	if result != "" {
		return result
	}
	defer release()
	doc, result := in.guard()
	if result != "" {
		return result
	}
	if findings := in.Gateway.Validator.Verification(doc); len(findings) > 0 {
		return in.invalid("the body of VERIFY must be exactly the verification body", findings)
	}
	return ""
}

// examine reads and validates the body, and returns its export.
func (in *intake) examine(head headers) (e *model.Export, result string) {
	release, result := in.reserve()
	if result != "" {
		return nil, result
	}
	defer release()
	doc, result := in.guard()
	if result != "" {
		return nil, result
	}
	faults, deviations := doc.CheckAttachments(in.MaxAttachments), []schemas.Finding(nil)
	if faults == nil {
		faults, deviations = in.Gateway.Validator.Received(doc)
	}
	if len(faults) > 0 && !in.tenant.Quarantine {
		return nil, in.invalid("the body breaks the schema of an export", faults)
	}
	if len(deviations) > 0 && in.tenant.Deviations == model.RefuseDeviations && len(faults) == 0 {
		return nil, in.invalid("the body deviates from the schema of an export, and this tenant takes no deviations",
			deviations)
	}
	quarantined := len(faults) > 0 || len(deviations) > 0 && in.tenant.Deviations == model.QuarantineDeviations
	hops, result := in.hops(doc)
	if result != "" {
		return nil, result
	}
	e = inbox.NewExport(in.tenant.Name, head.uuid, in.body, in.Gateway.Now())
	if e.Quarantined = quarantined; quarantined {
		e.Findings, _ = json.Marshal(append(faults, deviations...)) // strings can always be encoded
	}
	in.deviations = deviations
	e.Link, e.ExportContext = head.link, head.exportContext
	e.Integrations = model.Distinct(in.tenant.IntegrationNames())
	e.ForNobody = len(e.Integrations) == 0
	e.CandidateID, e.Attachments, e.Hops = doc.CandidateID, min(len(doc.Attachments), in.MaxAttachments), hops
	return e, ""
}

func (in *intake) guard() (*schemas.Document, string) {
	doc, err := in.Limits.Guard(in.body)
	if refused := new(schemas.GuardError); errors.As(err, &refused) {
		return nil, in.refuse("malformed", problem.New(http.StatusBadRequest,
			fmt.Sprintf("at byte %d: %s", refused.Offset, refused.Reason)))
	}
	return doc, ""
}

func (in *intake) invalid(detail string, findings []schemas.Finding) string {
	p := problem.New(http.StatusUnprocessableEntity, detail)
	p.Findings, in.faults = findings, findings
	return in.refuse("invalid", p)
}
