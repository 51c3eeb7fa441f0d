// Package schemas decides whether the body of a webhook event, or an application for a job, is one to accept.
//
// A webhook event is decided in two steps, and the types make sure that they come in this order: [Guard] reads the raw
// bytes once and returns a [Document], and a [Validator] takes only Documents. Nothing is validated unguarded, because
// the validator library panics on numbers such as 1e10000000.
//
//	validator, err := schemas.New("Service") // once
//	…
//	doc, err := schemas.Guard(body)     // *GuardError: answer 400
//	faults, deviations := validator.Received(doc) // faults: answer 422 with them; deviations: note them
//	out := doc.Rewrite(body, addresses) // other attachment URLs, every other byte as it came
//
// The rules are in export.schema.json and verification.schema.json: JSON Schema draft-07 with four conventions.
//
//   - "{service_name}" stands for the maker's name, which the contract writes as "Service".
//   - The formats contract-date (YYYY-MM-DD) and contract-datetime (YYYY-MM-DD HH:mm:ss) mean days and times that exist.
//   - The keyword deviations names what may be at that place instead, see [Deviation].
//   - $ref points into the same file and has no siblings; $id is a urn, so that nothing is ever fetched.
//
// What comes through the Apply API is decided by [CheckApplication], whose rules are in application.schema.json, and by
// [Answers], which compiles its schema from the questions of a job. [Jobs] keeps those until the jobs change.
//
// Neither an error nor a finding ever holds a value of the body: both go into answers and logs, and the body is about
// a candidate.
package schemas
