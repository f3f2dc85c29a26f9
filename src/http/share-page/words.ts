let format: Intl.DateTimeFormat | undefined;

/** The page has no script that could know the reader's time zone. */
export function timeInWords(ms: number): string {
  // With the first page: to make it takes longer than to load all modules of the pages.
  format ??= new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: 'UTC',
  });
  return `${format.format(ms)} UTC`;
}

const STATES: Record<string, string> = {
  queued: 'Waiting to be sent',
  scheduled: 'Scheduled',
  sent: 'Sent',
  delivery_delayed: 'Delivery delayed',
  delivered: 'Delivered',
  opened: 'Opened',
  clicked: 'Clicked',
  bounced: 'Bounced',
  complained: 'Reported as spam',
  failed: 'Failed',
  suppressed: 'Not sent: the address is suppressed',
  canceled: 'Canceled',
};

export const stateInWords = (state: string): string => STATES[state] ?? state;

const UNITS = ['bytes', 'kB', 'MB', 'GB'];

export function bytesInWords(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  if (unit === 0) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}
