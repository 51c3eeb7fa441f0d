// An application that people sign in to, on openid-client, and somebody who does, without a browser:
// node sign-in.mjs ISSUER CLIENT SECRET REDIRECT_URI. What came is printed in JSON.
import * as client from 'openid-client'

const [issuer, id, secret, redirectUri] = process.argv.slice(2)
const email = 'ada@example.com', password = 'correct horse'

const config = await client.discovery(new URL(issuer), id, undefined, client.ClientSecretBasic(secret), { execute: [client.allowInsecureRequests] })
client.enableNonRepudiationChecks(config) // the signatures of ID tokens, by the provider's keys

const verifier = client.randomPKCECodeVerifier()
const state = client.randomState()
const nonce = client.randomNonce()
const asked = client.buildAuthorizationUrl(config, {
	redirect_uri: redirectUri,
	scope: 'openid profile email offline_access',
	code_challenge: await client.calculatePKCECodeChallenge(verifier),
	code_challenge_method: 'S256',
	state,
	nonce,
	max_age: '300',
})

const back = await signIn(asked)
const tokens = await client.authorizationCodeGrant(config, back, {
	pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true, maxAge: 300,
})
const claims = tokens.claims()
const userInfo = await client.fetchUserInfo(config, tokens.access_token, claims.sub)
const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token)
const refreshedInfo = await client.fetchUserInfo(config, refreshed.access_token, claims.sub)
await client.tokenRevocation(config, refreshed.refresh_token)
const afterRevocation = await client.refreshTokenGrant(config, refreshed.refresh_token).then(() => 'granted', (error) => error.error)
const replayed = await client.authorizationCodeGrant(config, back, {
	pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true, maxAge: 300,
}).then(() => 'granted', (error) => error.error)

console.log(JSON.stringify({
	claims, userInfo, refreshedInfo, afterRevocation, replayed, tokenType: tokens.token_type, expiresIn: tokens.expires_in,
	endSession: client.buildEndSessionUrl(config, { id_token_hint: tokens.id_token }).href,
}))

// signIn opens the sign-in page, fills it in, and gives the address that the browser is sent back to.
async function signIn(address) {
	const page = await fetch(address, { redirect: 'manual' })
	const text = await page.text()
	if (page.status !== 200) throw new Error(`the sign-in page answers ${page.status}: ${text}`)
	const [, action] = text.match(/<form method="post" action="([^"]+)"/)
	const form = new URLSearchParams({ email, password, action: 'sign-in' })
	for (const [, name, value] of text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)) form.set(name, unescape(value))
	const answer = await fetch(new URL(action, address), { method: 'POST', body: form, redirect: 'manual', headers: { Origin: new URL(address).origin } })
	if (answer.status !== 303) throw new Error(`signing in answers ${answer.status}: ${await answer.text()}`)
	return new URL(answer.headers.get('location'))
}

function unescape(text) {
	const named = { amp: '&', lt: '<', gt: '>', quot: '"' }
	return text.replace(/&(?:#(\d+)|(\w+));/g, (_, number, name) => number ? String.fromCodePoint(number) : named[name])
}
