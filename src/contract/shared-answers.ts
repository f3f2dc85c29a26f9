import { accessOf, describeAccess, describeRoles, securityOf } from './access.ts';
import {
  methods,
  type Header,
  type OpenApiDocument,
  type Operation,
  type OrRef,
  type ResponseObject,
} from './document.ts';
import { describeScopes } from './scopes.ts';

/**
 * What every operation answers alike, so that no family writes it: the tag of its file, the headers of every answer, and
 * the refusals that follow from its credential, its method, its path and its body. What an operation declares itself wins.
 * Who may call it is also said in its description, for pages that know nothing of `x-service-permission`.
 */
export function addSharedAnswers(document: OpenApiDocument): void {
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of methods) {
      const operation = item[method];
      if (!operation) continue;
      operation.responses = { ...sharedResponses(operation, { method, path }), ...operation.responses };
      operation.security = securityOf(accessOf(operation));
      const access = describeAccess(accessOf(operation), operation['x-own-credential']);
      operation.description = `${operation.description.trim()}\n\n${access}`;
      delete operation['x-own-credential'];
    }
  }
  const inline = Object.values(document.paths)
    .flatMap((item) => methods.flatMap((method) => Object.values(item[method]?.responses ?? {})))
    .filter((response): response is ResponseObject => !('$ref' in response));
  for (const response of [...inline, ...Object.values(document.components.responses)]) {
    response.headers = { ...ANSWER_HEADERS, ...response.headers };
  }
}

/** Every role of a team and every error by name, as tables at the end of the introduction. */
export function addTables(document: OpenApiDocument): void {
  const rows = document['x-errors'].map(
    ({ name, status, meaning }) => `| \`${name}\` | ${status} | ${meaning.trim()} |`,
  );
  const roles = `## Roles\n\nA person in a team has one of these roles; each may also do what those before it may.\n\n${describeRoles()}`;
  const errors = ['## Errors', '', '| Name | Status | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
  document.info.description = `${document.info.description?.trim() ?? ''}\n\n${roles}\n\n${scopesTable()}\n\n${errors}\n`;
}

/** Every scope of an app that acts for a person. */
const scopesTable = (): string =>
  `## Scopes\n\nAn app that a person let in reaches what its scopes name, and never more than the person's role reaches at that moment.\n\n${describeScopes()}`;

const ANSWER_HEADERS: Record<string, OrRef<Header>> = {
  'ratelimit-limit': { $ref: '#/components/headers/RateLimitLimit' },
  'ratelimit-remaining': { $ref: '#/components/headers/RateLimitRemaining' },
  'ratelimit-reset': { $ref: '#/components/headers/RateLimitReset' },
  'x-request-id': { $ref: '#/components/headers/RequestId' },
};

/** What a step of OAuth may be refused with; a missing User-Agent is refused as everywhere. */
const OAUTH_RESPONSES: Operation['responses'] = {
  '400': { $ref: '#/components/responses/OauthRefused' },
  '401': { $ref: '#/components/responses/OauthUnauthorized' },
  '403': { $ref: '#/components/responses/UserAgentRequired' },
  '405': { $ref: '#/components/responses/MethodNotAllowed' },
  '429': { $ref: '#/components/responses/OauthLimited' },
  '500': { $ref: '#/components/responses/OauthFailed' },
  '503': { $ref: '#/components/responses/OauthUnavailable' },
};

function sharedResponses(
  operation: Operation,
  { method, path }: { method: string; path: string },
): Operation['responses'] {
  const takesCredential = operation['x-service-permission'] !== 'none';
  if (operation['x-oauth-flow']) return OAUTH_RESPONSES;
  const names: [status: string, response: string, applies: boolean][] = [
    ['400', 'InvalidBody', method !== 'get'],
    ['401', 'Unauthorized', takesCredential],
    ['403', takesCredential ? 'Forbidden' : 'UserAgentRequired', true],
    ['404', 'NotFound', path.includes('{')],
    ['405', 'MethodNotAllowed', true],
    ['413', 'TooLargeBody', method !== 'get'],
    ['415', 'EncodedBody', method !== 'get'],
    ['422', operation.requestBody ? 'Unprocessable' : 'InvalidParameter', true],
    ['429', 'RateLimited', true],
    ['500', 'InternalError', true],
    ['503', 'ServiceUnavailable', takesCredential],
  ];
  const applying = names.filter(([, , applies]) => applies);
  return Object.fromEntries(applying.map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]));
}
