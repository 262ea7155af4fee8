/** Something that the limiter promises did not hold. */
export class Broken extends Error {
  override readonly name = "Broken";
}
