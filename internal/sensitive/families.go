package sensitive

// family is the form of one vendor's secrets.
type family struct {
	name string
	// begins are the texts that it can begin with, and rest is, in RE2, what follows, up to a character that is
	// no letter and no digit.
	begins []string
	rest   string
}

// The parts of the forms.
const (
	hex   = `[0-9a-f]`
	alnum = `[0-9A-Za-z]`
	word  = `[0-9A-Za-z_]`
	url64 = `[0-9A-Za-z_-]`
	b64   = `[0-9A-Za-z+/]`
)

// families are forms that vendors publish: in their documentation of the token, in the announcement
// of its prefix, or in the list of the secret scanners that they take part in
// (docs.github.com, "Supported secret scanning patterns").
var families = []family{
	{"1password-service-account", []string{"ops_eyJ"}, b64 + `{200,}={0,3}`},
	{"1password-secret-key", []string{"A3-"}, `[0-9A-Z]{6}-(?:[0-9A-Z]{11}|[0-9A-Z]{6}-[0-9A-Z]{5})(?:-[0-9A-Z]{5}){3}`},
	{"adafruit-key", []string{"aio_"}, alnum + `{28}`},
	{"adobe-client-secret", []string{"p8e-"}, `[0-9A-Za-z_-]{32}`},
	{"age-secret-key", []string{"AGE-SECRET-KEY-1"}, `[02-9AC-HJ-NP-Z]{58}`},
	{"airtable-token", []string{"pat"}, alnum + `{14}\.` + hex + `{64}`},
	{"alibaba-access-key", []string{"LTAI"}, alnum + `{17,21}`},
	{"anthropic-key", []string{"sk-ant-"}, `[0-9a-z]{3,12}-` + url64 + `{80,120}`},
	{"artifactory-key", []string{"AKCp"}, alnum + `{69}`},
	{"artifactory-reference-token", []string{"cmVmd"}, alnum + `{59}`},
	{"asana-token", []string{"0/", "1/", "2/"}, `[0-9]{16}(?:/[0-9]{16})?:` + hex + `{32}`},
	{"atlassian-token", []string{"ATATT3", "ATCTT3"}, `[0-9A-Za-z_=-]{150,250}`},
	{"aws-access-key", []string{"AKIA", "ASIA", "ABIA", "ACCA"}, `[2-7A-Z]{16}`},
	{"aws-bedrock-key", []string{"ABSK"}, b64 + `{109,269}={0,2}`},
	{"bitbucket-app-password", []string{"ATBB"}, alnum + `{32}`},
	{"brevo-key", []string{"xkeysib-", "xsmtpsib-"}, hex + `{64}-` + alnum + `{16}`},
	{"clickhouse-key", []string{"4b1d"}, alnum + `{38}`},
	{"clojars-token", []string{"CLOJARS_"}, `[0-9a-z]{60}`},
	{"cloudflare-origin-ca-key", []string{"v1.0-"}, hex + `{24}-` + hex + `{146}`},
	{"contentful-token", []string{"CFPAT-"}, url64 + `{43}`},
	{"crates-token", []string{"cio"}, alnum + `{32}`},
	{"databricks-token", []string{"dapi"}, hex + `{32}(?:-[0-9])?`},
	{"digitalocean-token", []string{"dop_v1_", "doo_v1_", "dor_v1_"}, hex + `{64}`},
	{"discord-bot-token", []string{"M", "N", "O"}, `[0-9A-Za-z_-]{22,27}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,38}`},
	{"docker-token", []string{"dckr_pat_", "dckr_oat_"}, url64 + `{27,40}`},
	{"doppler-token", []string{"dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."}, `(?:[0-9a-z_-]{2,35}\.)?` + alnum + `{40,44}`},
	{"dropbox-token", []string{"sl."}, `(?:u\.)?` + url64 + `{130,}`},
	{"duffel-token", []string{"duffel_test_", "duffel_live_"}, `[0-9A-Za-z_=-]{43}`},
	{"dynatrace-token", []string{"dt0c01.", "dt0s01.", "dt0s02."}, `[0-9A-Z]{8,24}\.[0-9A-Z]{64}`},
	{"easypost-key", []string{"EZAK", "EZTK"}, alnum + `{54}`},
	{"facebook-token", []string{"EAA"}, alnum + `{100,400}`},
	{"figma-token", []string{"figd_", "figu_", "figo_"}, url64 + `{40,60}`},
	{"flutterwave-key", []string{"FLWSECK-", "FLWSECK_TEST-"}, `[0-9A-Za-z]{32}-X`},
	{"fly-token", []string{"fo1_"}, url64 + `{43}`},
	{"fly-macaroon", []string{"fm1a_", "fm1r_", "fm2_"}, `[0-9A-Za-z+/_-]{100,}={0,3}`},
	{"frameio-token", []string{"fio-u-"}, `[0-9A-Za-z_=-]{64}`},
	{"github-token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, alnum + `{36,255}`},
	{"github-fine-grained-token", []string{"github_pat_"}, word + `{82}`},
	{"grapnel-token", []string{"grapnel_"}, `[a-z2-7]{10}_[a-z2-7]{26}`},
	{"gitlab-token", []string{"glpat-", "gldt-", "glrt-", "glcbt-", "glft-", "glimt-", "glagent-", "gloas-", "glptt-", "glsoat-", "glffct-", "glwt-"},
		`(?:[0-9A-Za-z]{1,5}_)?` + url64 + `{20,64}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,12})?`},
	{"gitlab-runner-registration-token", []string{"GR1348941"}, url64 + `{20}`},
	{"google-api-key", []string{"AIza"}, url64 + `{35}`},
	{"google-oauth-secret", []string{"GOCSPX-"}, url64 + `{28}`},
	{"google-oauth-token", []string{"ya29."}, url64 + `{20,}`},
	{"grafana-token", []string{"glsa_"}, alnum + `{32}_[0-9A-Fa-f]{8}`},
	{"grafana-cloud-token", []string{"glc_eyJ"}, b64 + `{30,400}={0,3}`},
	{"groq-key", []string{"gsk_"}, alnum + `{52}`},
	{"harness-token", []string{"pat.", "sat."}, `[0-9A-Za-z_-]{22}\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{20}`},
	{"heroku-key", []string{"HRKU-AA"}, url64 + `{58}`},
	{"hubspot-token", []string{"pat-na1-", "pat-na2-", "pat-eu1-"}, `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`},
	{"huggingface-token", []string{"hf_", "api_org_"}, `[0-9A-Za-z]{34,40}`},
	{"infracost-key", []string{"ico-"}, alnum + `{32}`},
	{"langsmith-key", []string{"lsv2_pt_", "lsv2_sk_"}, hex + `{32}_` + hex + `{10}`},
	{"launchdarkly-key", []string{"sdk-", "mob-", "api-"}, hex + `{8}(?:-` + hex + `{4}){3}-` + hex + `{12}`},
	{"linear-key", []string{"lin_api_", "lin_oauth_"}, alnum + `{40,64}`},
	{"mailgun-key", []string{"key-", "pubkey-"}, hex + `{32}`},
	{"mapbox-secret-token", []string{"sk.eyJ"}, url64 + `{60,120}\.` + url64 + `{22}`},
	{"mercadopago-token", []string{"APP_USR-", "TEST-"}, `[0-9]{14,16}-[0-9]{6}-` + hex + `{32}-[0-9]{6,10}`},
	{"netlify-token", []string{"nfp_", "nfc_", "nfo_"}, alnum + `{36}`},
	{"newrelic-key", []string{"NRAK-", "NRII-", "NRJS-", "NRSP-"}, `[0-9A-Za-z_-]{19,32}`},
	{"notion-token", []string{"ntn_"}, alnum + `{43,50}`},
	{"npm-token", []string{"npm_"}, alnum + `{36}`},
	{"nuget-key", []string{"oy2"}, `[0-9a-z]{43}`},
	{"octopus-key", []string{"API-"}, `[0-9A-Z]{26}`},
	{"openai-key", []string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, url64 + `{40,250}`},
	{"openrouter-key", []string{"sk-or-v1-"}, hex + `{64}`},
	{"perplexity-key", []string{"pplx-"}, alnum + `{40,56}`},
	{"planetscale-token", []string{"pscale_tkn_", "pscale_pw_", "pscale_oauth_"}, `[0-9A-Za-z_.=-]{32,64}`},
	{"postman-key", []string{"PMAK-"}, hex + `{24}-` + hex + `{34}`},
	{"prefect-key", []string{"pnu_", "pnb_"}, alnum + `{36}`},
	{"pulumi-token", []string{"pul-"}, hex + `{40}`},
	{"pypi-token", []string{"pypi-AgE"}, url64 + `{50,}`},
	{"readme-key", []string{"rdme_"}, `[0-9a-z]{70}`},
	{"replicate-token", []string{"r8_"}, url64 + `{37}`},
	{"rubygems-key", []string{"rubygems_"}, hex + `{48}`},
	{"scalingo-token", []string{"tk-us-"}, url64 + `{48}`},
	{"sendgrid-key", []string{"SG."}, url64 + `{22}\.` + url64 + `{43}`},
	{"sentry-token", []string{"sntryu_"}, hex + `{64}`},
	{"sentry-org-token", []string{"sntrys_eyJ"}, `[0-9A-Za-z+/=_-]{80,400}`},
	{"settlemint-token", []string{"sm_pat_", "sm_aat_", "sm_sat_"}, alnum + `{16}`},
	{"shippo-token", []string{"shippo_live_", "shippo_test_"}, hex + `{40}`},
	{"shopify-token", []string{"shpat_", "shpca_", "shppa_", "shpss_", "shpua_"}, `[0-9A-Fa-f]{32}`},
	{"slack-token", []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe.xoxb-", "xoxe.xoxp-", "xoxe-"}, `[0-9A-Za-z-]{20,255}`},
	{"slack-app-token", []string{"xapp-"}, `[0-9]-[0-9A-Z]+-[0-9]+-[0-9a-z]{32,128}`},
	{"slack-webhook", []string{"hooks.slack.com/"}, `(?:services|workflows|triggers)/[0-9A-Za-z+/]{40,60}`},
	{"sonar-token", []string{"squ_", "sqp_", "sqa_"}, hex + `{40}`},
	{"sourcegraph-token", []string{"sgp_"}, `(?:[0-9a-fA-F]{16}_|local_)?` + hex + `{40}`},
	{"square-token", []string{"sq0atp-", "sq0csp-", "sq0idp-", "EAAA"}, url64 + `{22,60}`},
	{"stripe-key", []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"}, alnum + `{16,200}`},
	{"stripe-webhook-secret", []string{"whsec_"}, `[0-9A-Za-z+/]{32,64}={0,2}`},
	{"supabase-key", []string{"sbp_"}, `(?:v0_)?` + hex + `{40}`},
	{"supabase-secret-key", []string{"sb_secret_"}, url64 + `{22}_` + url64 + `{8}`},
	{"tailscale-key", []string{"tskey-auth-", "tskey-api-", "tskey-client-", "tskey-scim-", "tskey-webhook-"}, alnum + `{8,24}(?:CNTRL)?-` + alnum + `{16,64}`},
	{"twilio-key", []string{"SK"}, hex + `{32}`},
	{"typeform-token", []string{"tfp_"}, `[0-9A-Za-z_.=-]{59}`},
	{"vault-token", []string{"hvs.", "hvb.", "hvr."}, url64 + `{24,400}`},
	{"xai-key", []string{"xai-"}, alnum + `{80}`},
	{"yandex-token", []string{"AQVN", "t1."}, url64 + `{35,42}(?:[.][0-9A-Za-z_-]{80,100})?={0,2}`},
	{"jwt", []string{"eyJ"}, url64 + `{10,}\.eyJ` + url64 + `{10,}\.` + url64 + `{10,}`},
}

// inner are forms that are known by a text in their middle.
var inner = []struct {
	name, has, form string
	// most is how far the form reaches to each side of the text.
	most int
}{
	{"openai-key", "T3BlbkFJ", `sk-` + url64 + `{20,100}T3BlbkFJ` + url64 + `{20,100}`, 110},
	{"terraform-token", ".atlasv1.", alnum + `{14}\.atlasv1\.` + url64 + `{60,70}`, 80},
	{"telegram-bot-token", ":AA", `[0-9]{8,10}:AA` + url64 + `{32,33}`, 40},
	{"azure-client-secret", "Q~", `[0-9A-Za-z_~.]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34}`, 40},
	{"azure-storage-key", "AccountKey=", `AccountKey=` + b64 + `{86}==`, 100},
	{"azure-devops-token", "AZDO", alnum + `{76}AZDO` + alnum + `{4}`, 80},
	{"mailchimp-key", "-us", hex + `{32}-us[0-9]{1,2}`, 40},
	{"discord-webhook", "/api/webhooks/", `discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/` + url64 + `{60,80}`, 120},
	{"teams-webhook", "webhook.office.com/", `[0-9a-z-]+\.webhook\.office\.com/webhookb2/` + hex + `{8}-[0-9a-f@-]{60,70}/IncomingWebhook/` + hex + `{32}/[0-9a-f-]{36}`, 220},
}
