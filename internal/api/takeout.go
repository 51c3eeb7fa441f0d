package api

// TakeoutType is the media type of a takeout, and of an import with files; LinesType that of NDJSON, TableType that of a
// table for spreadsheets, MergePatchType that of changes to a resource (RFC 7396).
const (
	TakeoutType = "application/x-tar"
	LinesType   = "application/x-ndjson"
	TableType   = "text/csv; charset=utf-8"

	MergePatchType = "application/merge-patch+json"
)

// ImportCounts is how far an import came: what was written, and what was left out.
type ImportCounts struct {
	Steps        int `json:"steps"`
	Jobs         int `json:"jobs"`
	Candidates   int `json:"candidates"`
	Applications int `json:"jobApplications"`
	Documents    int `json:"documents"`
	There        int `json:"there"`       // of that id it was there, and stays as it is
	Erased       int `json:"erased"`      // people and job applications that were erased here since
	WithoutFile  int `json:"withoutFile"` // documents whose file the archive lacks
	Helpers      int `json:"helpers"`     // helpers of steps that name an integration which the tenant lacks
}

// ImportProgress is a line of the answer to an import.
type ImportProgress struct {
	ImportCounts
	Done  bool   `json:"done"`
	Fault string `json:"fault,omitempty"` // why it broke off
}
