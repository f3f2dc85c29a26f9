import { privatePageHeaders } from '../private-page-headers.ts';

/** What the policy of the page and of the frame inside it have in common. */
export const framePolicy = (withRemoteImages: boolean): string =>
  [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src data:${withRemoteImages ? ' https: http:' : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

/**
 * A document of `srcdoc` lives under the policy of the page around it, so the page's own policy is what holds the
 * email: that is why it allows inline styles, and why `default-src` leaves a frame nowhere to go. Of all sources only
 * images are ever opened. The token stands in the address, so nothing may store or pass on the address either.
 */
export const sharePageHeaders = (withRemoteImages: boolean): Record<string, string> => ({
  ...privatePageHeaders(framePolicy(withRemoteImages)),
  vary: 'accept',
});
