const LARGEST_EXACT = Number.MAX_SAFE_INTEGER;
/** Digits of `a`, seven bits each, most significant first: with `b` and `divisor` below 2^45 no step passes 2^53. */
const DIGITS = [42, 35, 28, 21, 14, 7, 0].map((bits) => 2 ** bits);

/**
 * `a * b / divisor` rounded down, to the last digit though the product may pass 2^53. All are whole and not negative, `a` is
 * below 2^49, `b` and `divisor` are below 2^45, and `divisor` is above 0.
 */
export function quotientDown(a: number, b: number, divisor: number): number {
  const product = a * b;
  return product <= LARGEST_EXACT ? Math.floor(product / divisor) : longDivision(a, b, divisor, 0);
}

/** As {@link quotientDown}, rounded up. */
export function quotientUp(a: number, b: number, divisor: number): number {
  const product = a * b;
  return product <= LARGEST_EXACT ? Math.ceil(product / divisor) : longDivision(a, b, divisor, 1);
}

/** @param up added when something is left over. */
function longDivision(a: number, b: number, divisor: number, up: number): number {
  let quotient = 0;
  let rest = 0;
  for (const unit of DIGITS) {
    const part = rest * 128 + (Math.floor(a / unit) % 128) * b;
    const whole = Math.floor(part / divisor);
    quotient = quotient * 128 + whole;
    rest = part - whole * divisor;
  }
  return rest > 0 ? quotient + up : quotient;
}
