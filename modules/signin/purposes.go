package signin

// The purposes that values are sealed for. A value sealed for one purpose does not open for another.
const (
	forSigningKeys = "hiregate signing keys"
	forFactors     = "hiregate second factors"
	forFactor      = "hiregate tickets of who passed the first factor"
	forOwnFactor   = "hiregate tickets of who sets up a second factor of their own"
	forChoice      = "hiregate tickets of who chooses a password"
	forRecovery    = "hiregate links to choose a password"
	forConsent     = "hiregate tickets of who is asked for their consent"
	forVisits      = "hiregate tickets of who signs in upstream"
	forUpstream    = "hiregate refresh tokens of who signed in upstream"
	forRequests    = "hiregate authorization requests of who signs in upstream"
)
