"""The table of flags: reading them, refusing them, help and what a reload may change go by its rows.

Spec 01, Process. Nothing here reads anything.
"""

from foyer.config import bounds, overload, values
from foyer.config.flag import PREFIX, ConfigError, Flag, Reload

__all__ = ["CONFIG_FILE", "DEMO_FLAGS", "FLAGS", "PREFIX", "REQUIRED", "ConfigError", "Flag", "Reload"]


CONFIG_FILE = "config-file"

FLAGS: tuple[Flag, ...] = (
    Flag(
        CONFIG_FILE,
        "Configuration",
        "file",
        values.path,
        "A YAML file with values for the flags below, by name. It is read again on SIGHUP.",
        sign_in=False,
        # A process cannot be given other arguments, nor another environment: this one never changes.
    ),
    Flag(
        "listen",
        "Listening",
        "address",
        values.address,
        "Where browsers, or the ingress, connect. :8080 is port 8080 on every interface; port 0 takes a free"
        " one and logs it.",
        # Not 443: an unprivileged process may not take it, and an ingress or Service maps it anyway.
        default=":8080",
        sign_in=False,
        # A new address might not be had, and the old one's connections would have to be drained.
    ),
    Flag(
        "tls-cert-file",
        "Listening",
        "file",
        values.path,
        "Certificate chain in PEM, the server's own first. Give it with -tls-key-file; both are read again"
        " when they change. Without the two foyer speaks plain HTTP, for an ingress that terminates TLS.",
        sign_in=False,
        # The listener's, as whether there is TLS at all is. New certificates come into the same files.
    ),
    Flag(
        "tls-key-file",
        "Listening",
        "file",
        values.path,
        "The certificate's private key, in PEM and not encrypted.",
        sign_in=False,
    ),
    Flag(
        "metrics-listen",
        "Listening",
        "address",
        values.optional_address,
        "Where Prometheus scrapes /metrics, over plain HTTP: a listener of its own, as pages can read what"
        " the origin serves. Let only the monitoring reach it. An empty value serves no metrics.",
        default=":9090",
        sign_in=False,
        # As -listen: a new address might not be had.
    ),
    Flag(
        "public-url",
        "Listening",
        "https URL",
        values.origin,
        "The origin that browsers see, such as https://apps.example.com. Cookies, the redirect URI and the"
        " check of Origin all use this one; Host and X-Forwarded-Host are never believed.",
        required=True,
        # Every login in progress was begun with the old redirect URI, and every open page has the old
        # origin. It never changes alone: DNS, certificate and the issuer's client change with it.
    ),
    Flag(
        "oidc-issuer",
        "Signing in",
        "https URL",
        values.issuer,
        "The OpenID Connect issuer, exactly as it names itself in the iss of its tokens.",
        required=True,
        # Another issuer is another set of people, to be discovered before anyone is ready for them.
    ),
    Flag(
        "oidc-client-id",
        "Signing in",
        "text",
        values.client_id,
        "The client that foyer is at the issuer. The API server has to accept it as an audience.",
        required=True,
        # Codes of logins in progress are for the old client, and so would their tokens' audience be.
    ),
    Flag(
        "oidc-client-secret-file",
        "Signing in",
        "file",
        values.path,
        "The client's secret, alone in a file. A newline at its end is not part of it. Read again when it"
        " changes.",
        required=True,
        reload=Reload.NOW,
    ),
    Flag(
        "oidc-ca-file",
        "Signing in",
        "file",
        values.path,
        "Roots to trust for the issuer's certificate, in PEM, beside the system's. Read again when it"
        " changes.",
        reload=Reload.NOW,
    ),
    Flag(
        "oidc-scopes",
        "Signing in",
        "list",
        values.scopes,
        "What to ask the issuer for. openid is needed; email and profile are who foyer shows and logs. The"
        " API server may need another, such as groups.",
        default="openid,email,profile",
        many=True,
        reload=Reload.NOW,
    ),
    Flag(
        "login-config-file",
        "Signing in",
        "file",
        values.path,
        "A YAML file with authorizationParameters, which are sent to the issuer as well, and sessionClaims,"
        " which say where in the ID token a person's name and groups are. It is read again on SIGHUP.",
        reload=Reload.NOW,
    ),
    Flag(
        "kubernetes-server",
        "Kubernetes",
        "https URL",
        values.origin,
        "The API server. Every request goes here, with the signed-in person's own token.",
        required=True,
        instead="targets-file",
        # It is where everybody's token goes: not to be changed under requests that are on their way.
    ),
    Flag(
        "kubernetes-ca-file",
        "Kubernetes",
        "file",
        values.path,
        "Roots to trust for the API server's certificate, in PEM. Without it, the system's. Read again when"
        " it changes.",
        reload=Reload.NOW,
    ),
    Flag(
        "targets-file",
        "Kubernetes",
        "file",
        values.path,
        "In place of -kubernetes-server: a YAML file with targets, a list of several API servers, each with"
        " name, server and, if it has them, caFile and sharedWatchTokenFile. All have to accept the issuer's"
        " tokens. It is read again on SIGHUP.",
        # An operator adds clusters and takes them away under people who use the others.
        reload=Reload.NOW,
    ),
    Flag(
        "session-keys-file",
        "Sessions",
        "file",
        values.path,
        "One to four keys, a line each, as foyer keys prints them. The first seals new sessions and each"
        " opens those it sealed. Read again when it changes.",
        required=True,
        reload=Reload.NOW,
    ),
    Flag(
        "session-absolute-timeout",
        "Sessions",
        "duration",
        values.session_timeout,
        "How long after its login a session ends, whatever happens in it. The ID token's own end may come"
        " first.",
        # A working day: nobody signs in twice on one, and a forgotten browser is signed out by the next.
        default="8h",
        # Not a limit of what foyer carries but a rule for sessions: lowering it is how an operator
        # shortens those that are out there already (spec 02), and that should not cost a restart.
        reload=Reload.NOW,
    ),
    Flag(
        "stream-lenient-ordering",
        "Streams",
        "list",
        values.resources,
        "Resources, as kubectl names them, whose resourceVersions may be without an order: notes.example.com."
        " Their objects are shown as they come; of others one whose version is no number ends the stream.",
        # An order that cannot be checked is not to be trusted without somebody's word for it.
        many=True,
        reload=Reload.NOW,
    ),
    Flag(
        "shared-watch-resources",
        "Streams",
        "list",
        values.resources,
        "Resources, as kubectl names them, whose streams read one watch a scope instead of one each:"
        " notes.example.com,configmaps. Each person is still asked about at the API server. Give it with"
        " -shared-watch-token-file.",
        many=True,
        # Open streams stay as they are; those that open later are shared or not.
        reload=Reload.NOW,
    ),
    Flag(
        "shared-watch-token-file",
        "Streams",
        "file",
        values.path,
        "The token that shared watches and access reviews are asked for with, alone in a file: of an account"
        " that may list and watch these resources and create subjectaccessreviews. Read again when it"
        " changes.",
        reload=Reload.NOW,
    ),
    Flag(
        "shared-watch-recheck-interval",
        "Streams",
        "duration, from 1s",
        values.recheck_interval,
        "How often the API server is asked whether a shared stream may go on.",
        # With the TTL and the time of a review and a write, a revoked right ends a stream within a minute.
        default="30s",
    ),
    Flag(
        "shared-watch-decision-ttl",
        "Streams",
        "duration",
        values.duration,
        "How long its answer holds for streams of the same person and scope. At most the recheck interval.",
        # A page that opens nine streams, and does so again when it is reloaded, is asked about once.
        default="10s",
    ),
    Flag(
        "shared-watch-qps",
        "Streams",
        "number a second",
        values.rate,
        "Requests a second that may be sent with the shared token, lists, watches and reviews together, and"
        " twice as many at once. More wait for their turn.",
        # 200 people with a scope each make 13 reviews a second; as many again open streams every minute.
        default="100",
    ),
    *bounds.FLAGS,
    *overload.FLAGS,
)

REQUIRED = tuple(flag.needed for flag in FLAGS if flag.required)
"""The flags, as written, without which nobody can sign in."""

DEMO_FLAGS: tuple[Flag, ...] = (
    Flag(
        "listen",
        "Listening",
        "address",
        values.address,
        "Where the demo listens. Its two people have no password: keep it on this machine.",
        default="127.0.0.1:8443",
    ),
)
