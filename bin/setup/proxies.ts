/** Lines for the web server that stands in front of the API. */

export interface Behind {
  host: string;
  apiPort: number;
  /** Whether rasket asks an authority itself, through the web server. */
  asksAuthority: boolean;
}

/** For the one that was seen, or for those that most have. */
export function proxySnippets(program: string | undefined, behind: Behind): string {
  const all: Readonly<Record<string, (behind: Behind) => string>> = { nginx, Caddy: caddy, Apache: apache };
  const known = all[program ?? ''];
  return known ? known(behind) : [nginx(behind), caddy(behind)].join('\n\n');
}

/** A web server that proves its own name by a file keeps doing so; what it does not have, rasket may. */
const nginx = ({ host, apiPort, asksAuthority }: Behind): string => `# nginx: /etc/nginx/conf.d/rasket.conf
server {
    listen 80;
    listen [::]:80;
    server_name ${host};
${
  asksAuthority
    ? `    location /.well-known/acme-challenge/ {
        root /var/www/html;
        try_files $uri @rasket;
    }
    location @rasket { proxy_pass http://127.0.0.1:${apiPort}; }
`
    : ''
}    location / { return 301 https://$host$request_uri; }
}
server {
    listen 443 ssl;
    listen [::]:443 ssl;
    server_name ${host};
    ssl_certificate     /etc/letsencrypt/live/${host}/fullchain.pem;   # your web server's own, for this name
    ssl_certificate_key /etc/letsencrypt/live/${host}/privkey.pem;
    client_max_body_size 50m;
    location / {
        proxy_pass http://127.0.0.1:${apiPort};
        proxy_http_version 1.1;
        proxy_buffering off;
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
    }
}`;

/** It gets its own certificate, and passes on what it was not asked to prove. */
const caddy = ({ host, apiPort }: Behind): string => `# Caddy: /etc/caddy/Caddyfile
${host} {
    reverse_proxy 127.0.0.1:${apiPort}
}`;

/** No remark stands behind a directive: it would be another argument of it. */
const apache = ({ host, apiPort, asksAuthority }: Behind): string => `# Apache: /etc/apache2/sites-available/rasket.conf
# Then: a2enmod proxy proxy_http headers rewrite ssl; a2ensite rasket; systemctl restart apache2
<VirtualHost *:80>
    ServerName ${host}
    DocumentRoot /var/www/html
    RewriteEngine on
${
  asksAuthority
    ? `    RewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI} !-f
    RewriteRule ^/\\.well-known/acme-challenge/ http://127.0.0.1:${apiPort}%{REQUEST_URI} [P]
    RewriteRule !^/\\.well-known/acme-challenge/ https://${host}%{REQUEST_URI} [R=301,L]
`
    : `    RewriteRule ^ https://${host}%{REQUEST_URI} [R=301,L]
`
}</VirtualHost>
<VirtualHost *:443>
    ServerName ${host}
    SSLEngine on
    # Your web server's own, for this name.
    SSLCertificateFile    /etc/letsencrypt/live/${host}/fullchain.pem
    SSLCertificateKeyFile /etc/letsencrypt/live/${host}/privkey.pem
    LimitRequestBody 52428800
    AllowEncodedSlashes NoDecode
    ProxyPreserveHost On
    ProxyPass / http://127.0.0.1:${apiPort}/ nocanon ttl=60
    RequestHeader set X-Forwarded-Proto https
</VirtualHost>`;
