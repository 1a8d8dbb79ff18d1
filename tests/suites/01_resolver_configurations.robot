*** Settings ***
Documentation       Does each sample, in each resolver configuration, do what the resolver table says:
...                 outputs equal to the NumPy reference to the bit, or exactly the findings that are
...                 announced? One row a sample and configuration; a unit test holds the rows against
...                 zephyr_samples/resolvers.toml.
Resource            ../../robot/tflm.resource
Suite Setup         Run All Sample Cases
Test Template       Sample Should Behave As The Table Says


*** Test Cases ***                          SAMPLE               RESOLVER
hello_world exact                           hello_world          exact
hello_world person_detection                hello_world          person_detection
hello_world all                             hello_world          all
hello_world missing                         hello_world          missing
hello_world empty                           hello_world          empty
hello_world too_small                       hello_world          too_small
hello_world too_small_rev                   hello_world          too_small_rev
hello_world too_large                       hello_world          too_large
hello_world duplicate                       hello_world          duplicate
hello_world override                        hello_world          override
hello_world unchecked                       hello_world          unchecked
hello_world checked                         hello_world          checked
hello_world arena_fits                      hello_world          arena_fits
hello_world arena_one_byte_short            hello_world          arena_one_byte_short
hello_world arena_too_small                 hello_world          arena_too_small
hello_world console                         hello_world          console

hello_world_float exact                     hello_world_float    exact
hello_world_float person_detection          hello_world_float    person_detection
hello_world_float all                       hello_world_float    all
hello_world_float missing                   hello_world_float    missing
hello_world_float empty                     hello_world_float    empty
hello_world_float too_small                 hello_world_float    too_small
hello_world_float too_small_rev             hello_world_float    too_small_rev
hello_world_float too_large                 hello_world_float    too_large
hello_world_float duplicate                 hello_world_float    duplicate
hello_world_float unchecked                 hello_world_float    unchecked
hello_world_float checked                   hello_world_float    checked
hello_world_float arena_fits                hello_world_float    arena_fits
hello_world_float arena_one_byte_short      hello_world_float    arena_one_byte_short
hello_world_float arena_too_small           hello_world_float    arena_too_small
hello_world_float console                   hello_world_float    console

digits exact                                digits               exact
digits person_detection                     digits               person_detection
digits all                                  digits               all
digits missing                              digits               missing
digits empty                                digits               empty
digits too_small                            digits               too_small
digits too_small_rev                        digits               too_small_rev
digits too_large                            digits               too_large
digits duplicate                            digits               duplicate
digits override                             digits               override
digits unchecked                            digits               unchecked
digits checked                              digits               checked
digits arena_fits                           digits               arena_fits
digits arena_one_byte_short                 digits               arena_one_byte_short
digits arena_too_small                      digits               arena_too_small
digits console                              digits               console

digits_cnn exact                            digits_cnn           exact
digits_cnn person_detection                 digits_cnn           person_detection
digits_cnn all                              digits_cnn           all
digits_cnn missing                          digits_cnn           missing
digits_cnn empty                            digits_cnn           empty
digits_cnn too_small                        digits_cnn           too_small
digits_cnn too_small_rev                    digits_cnn           too_small_rev
digits_cnn too_large                        digits_cnn           too_large
digits_cnn duplicate                        digits_cnn           duplicate
digits_cnn override                         digits_cnn           override
digits_cnn unchecked                        digits_cnn           unchecked
digits_cnn checked                          digits_cnn           checked
digits_cnn arena_fits                       digits_cnn           arena_fits
digits_cnn arena_one_byte_short             digits_cnn           arena_one_byte_short
digits_cnn arena_too_small                  digits_cnn           arena_too_small
digits_cnn console                          digits_cnn           console

residual exact                              residual             exact
residual person_detection                   residual             person_detection
residual all                                residual             all
residual missing                            residual             missing
residual empty                              residual             empty
residual too_small                          residual             too_small
residual too_small_rev                      residual             too_small_rev
residual too_large                          residual             too_large
residual duplicate                          residual             duplicate
residual unchecked                          residual             unchecked
residual checked                            residual             checked
residual arena_fits                         residual             arena_fits
residual arena_one_byte_short               residual             arena_one_byte_short
residual arena_too_small                    residual             arena_too_small
residual console                            residual             console

chime exact                                 chime                exact
chime person_detection                      chime                person_detection
chime all                                   chime                all
chime missing                               chime                missing
chime empty                                 chime                empty
chime too_small                             chime                too_small
chime too_small_rev                         chime                too_small_rev
chime too_large                             chime                too_large
chime duplicate                             chime                duplicate
chime unchecked                             chime                unchecked
chime checked                               chime                checked
chime arena_fits                            chime                arena_fits
chime arena_one_byte_short                  chime                arena_one_byte_short
chime arena_too_small                       chime                arena_too_small
chime console                               chime                console

atan exact                                  atan                 exact
atan person_detection                       atan                 person_detection
atan all                                    atan                 all
atan missing                                atan                 missing
atan empty                                  atan                 empty
atan too_small                              atan                 too_small
atan too_small_rev                          atan                 too_small_rev
atan too_large                              atan                 too_large
atan duplicate                              atan                 duplicate
atan custom                                 atan                 custom
atan custom_missing                         atan                 custom_missing
atan custom_too_small                       atan                 custom_too_small
atan custom_duplicate                       atan                 custom_duplicate
atan unchecked                              atan                 unchecked
atan checked                                atan                 checked
atan arena_fits                             atan                 arena_fits
atan arena_one_byte_short                   atan                 arena_one_byte_short
atan arena_too_small                        atan                 arena_too_small
atan console                                atan                 console

benchmark exact                             benchmark            exact
benchmark person_detection                  benchmark            person_detection
benchmark all                               benchmark            all
benchmark missing                           benchmark            missing
benchmark empty                             benchmark            empty
benchmark too_small                         benchmark            too_small
benchmark too_small_rev                     benchmark            too_small_rev
benchmark too_large                         benchmark            too_large
benchmark duplicate                         benchmark            duplicate
benchmark unchecked                         benchmark            unchecked
benchmark checked                           benchmark            checked
benchmark arena_too_small                   benchmark            arena_too_small
benchmark console                           benchmark            console
