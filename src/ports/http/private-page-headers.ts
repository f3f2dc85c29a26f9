const UNUSED_FEATURES = [
  ...['accelerometer', 'attribution-reporting', 'autoplay', 'browsing-topics', 'camera', 'display-capture'],
  ...['encrypted-media', 'fullscreen', 'geolocation', 'gyroscope', 'identity-credentials-get', 'idle-detection'],
  ...['interest-cohort', 'join-ad-interest-group', 'magnetometer', 'microphone', 'midi', 'payment'],
  ...['picture-in-picture', 'publickey-credentials-get', 'run-ad-auction', 'screen-wake-lock', 'serial'],
  ...['shared-storage', 'usb', 'web-share', 'xr-spatial-tracking'],
];

/** Headers of a page whose URL alone grants access: it must not be stored, passed on or framed. */
export const privatePageHeaders = (policy: string): Record<string, string> => ({
  'content-security-policy': `${policy}; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': UNUSED_FEATURES.map((feature) => `${feature}=()`).join(', '),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex, nofollow, noarchive',
});
