import { privatePageHeaders } from '../private-page-headers.ts';

/** The policy that the page and the frame inside it have in common. */
export const framePolicy = (withRemoteImages: boolean): string =>
  [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src data:${withRemoteImages ? ' https: http:' : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

/**
 * A `srcdoc` document is under the policy of the page around it, so the page's own policy is what confines the email:
 * that is why it allows inline styles, and why its `default-src` gives a frame nowhere to go. The reader can only allow
 * images. The token is in the URL, so the URL must not be stored or passed on either.
 */
export const sharePageHeaders = (withRemoteImages: boolean): Record<string, string> => ({
  ...privatePageHeaders(framePolicy(withRemoteImages)),
  vary: 'accept',
});
