/** Requests of official clients that the server still refuses, as method and path, by client. */
const NOT_YET_ACCEPTED: Record<string, RegExp[]> = {
  // The address of the path repeated as `email` in the body.
  'resend-python': [/^POST \/contacts\/[^/]+%40[^/]+\/segments\//],
  // An empty `id` next to the address that the path holds.
  'resend-go': [/^PATCH \/contacts\/[^/]+@[^/]+$/],
  // The address of the path repeated as `email` in the query.
  'resend-ruby': [/^GET \/contacts\/[^/]+@[^/]+\/segments\?/],
  // Claims in the plural.
  'resend-php': [/^(GET|POST) \/domains\/(\S+\/)?claims/],
};

export const isNotYetAccepted = (client: string, { method, path }: { method: string; path: string }): boolean =>
  NOT_YET_ACCEPTED[client]?.some((request) => request.test(`${method} ${path}`)) ?? false;
