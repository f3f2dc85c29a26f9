/** What the policy of the page and of the frame inside it have in common. */
export const framePolicy = (withRemoteImages: boolean): string =>
  [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src data:${withRemoteImages ? ' https: http:' : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

const UNUSED_FEATURES = [
  ...['accelerometer', 'attribution-reporting', 'autoplay', 'browsing-topics', 'camera', 'display-capture'],
  ...['encrypted-media', 'fullscreen', 'geolocation', 'gyroscope', 'identity-credentials-get', 'idle-detection'],
  ...['interest-cohort', 'join-ad-interest-group', 'magnetometer', 'microphone', 'midi', 'payment'],
  ...['picture-in-picture', 'publickey-credentials-get', 'run-ad-auction', 'screen-wake-lock', 'serial'],
  ...['shared-storage', 'usb', 'web-share', 'xr-spatial-tracking'],
];

/**
 * A document of `srcdoc` lives under the policy of the page around it, so the page's own policy is what holds the
 * email: that is why it allows inline styles, and why `default-src` leaves a frame nowhere to go. Of all sources only
 * images are ever opened. The token stands in the address, so nothing may store or pass on the address either.
 */
export const sharePageHeaders = (withRemoteImages: boolean): Record<string, string> => ({
  'content-security-policy': `${framePolicy(withRemoteImages)}; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': UNUSED_FEATURES.map((feature) => `${feature}=()`).join(', '),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex, nofollow, noarchive',
  vary: 'accept',
});
