package hropen

// The export body, "HROpen Candidate object" in the contract's part B. Properties are written in the order of these
// fields. An array that is nil is written as an empty one; a string that is unknown is left out.

type body struct {
	Candidate candidate `json:"candidate"`
}

type candidate struct {
	AlternateIDs []identifier `json:"alternateIds"`
	Person       person       `json:"person"`
	Profiles     []profile    `json:"profiles"`
}

type identifier struct {
	Value          string `json:"value"`
	SchemeID       string `json:"schemeId"`
	SchemeAgencyID string `json:"schemeAgencyId"`
}

type person struct {
	ID            identifier    `json:"id"`
	Name          name          `json:"name"`
	Gender        string        `json:"gender,omitzero"`
	CitizenShip   []string      `json:"citizenShip"`
	ApplyDate     string        `json:"applyDate,omitzero"`
	Communication communication `json:"communication"`
	CustomFields  []customField `json:"customFields"`
}

type name struct {
	Formatted string `json:"formattedName,omitzero"`
	Given     string `json:"given,omitzero"`
	Family    string `json:"family,omitzero"`
}

type communication struct {
	Address []address `json:"address"`
	Phone   []phone   `json:"phone"`
	Email   []email   `json:"email"`
	Web     string    `json:"web,omitzero"`
}

type address struct {
	Subdivisions []subdivision `json:"countrySubdivisions"`
	City         string        `json:"city,omitzero"`
	PostalCode   string        `json:"postalCode,omitzero"`
	Line         string        `json:"line,omitzero"`
	Formatted    string        `json:"formattedAddress,omitzero"`
}

type subdivision struct {
	Type  string `json:"type,omitzero"`
	Value string `json:"value,omitzero"`
}

type phone struct {
	FormattedNumber string `json:"formattedNumber,omitzero"`
}

type email struct {
	Address string `json:"address,omitzero"`
}

type customField struct {
	ID    identifier `json:"id"`
	Name  string     `json:"name"`
	Type  string     `json:"type"`
	Value string     `json:"value"`
}

type profile struct {
	AlternateIDs []identifier      `json:"alternateIds"`
	LanguageCode string            `json:"languageCode"`
	ProfileID    identifier        `json:"profileId"`
	Openings     []positionOpening `json:"associatedPositionOpenings"`
	Education    []education       `json:"education"`
	Attachments  []attachment      `json:"attachments"`
}

type positionOpening struct {
	AlternateIDs []identifier  `json:"alternateIds"`
	ID           identifier    `json:"positionOpeningId"`
	Title        string        `json:"positionTitle,omitzero"`
	URI          string        `json:"positionUri,omitzero"`
	Status       status        `json:"candidateStatus"`
	CustomFields []customField `json:"customFields"`
}

type status struct {
	Name               string `json:"name,omitzero"`
	Category           string `json:"category,omitzero"`
	TransitionDateTime string `json:"transitionDateTime,omitzero"`
}

type education struct {
	Levels []level `json:"educationLevelCodes"`
}

type level struct {
	Name string `json:"name,omitzero"`
}

type attachment struct {
	ID           identifier `json:"id"`
	Descriptions []string   `json:"descriptions"`
	URL          string     `json:"url"`
}
