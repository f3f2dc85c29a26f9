/** WCAG 2.2, 1.4.3. Colors are written as `#` and six hexadecimal digits. */
const CONTRAST_MIN = 4.5;
const STEPS = 20;

/** Returns black or white, whichever can be read better; one of them always has more than the least contrast. */
export const chooseTextColor = (ground: string): string =>
  measureContrast(ground, '#ffffff') >= measureContrast(ground, '#000000') ? '#ffffff' : '#000000';

/** Mixes a color with black or white until a text in it can be read on the ground. */
export function makeReadable(color: string, ground: string): string {
  const target = chooseTextColor(ground);
  for (let step = 0; step < STEPS; step++) {
    const mixed = mix(color, target, step / STEPS);
    if (measureContrast(mixed, ground) >= CONTRAST_MIN) return mixed;
  }
  return target;
}

/** Returns the contrast of two colors as WCAG defines it, from 1 to 21. */
export function measureContrast(one: string, other: string): number {
  const first = measureLuminance(one);
  const second = measureLuminance(other);
  return (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05);
}

function measureLuminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = readChannels(color).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mix(color: string, target: string, share: number): string {
  const other = readChannels(target);
  const channels = readChannels(color).map((channel, i) => Math.round(channel + ((other[i] ?? 0) - channel) * share));
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

const readChannels = (color: string): number[] => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
